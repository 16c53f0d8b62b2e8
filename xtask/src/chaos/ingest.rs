//! Kills a run that takes posted rows, at any moment, and starts it again, now and then with another text. Clients send
//! again what was not acknowledged. A row has another text each time that it is sent, so the output says what was
//! taken, how often, and in which order.

mod order;
mod outputs;
mod rows;

use super::change::Change;
use super::clients::{Answered, Clients, Posts};
use super::http;
use super::lives::Lives;
use super::processes::{PATIENCE, Place, Service, io, violation};
use super::{Args, Random};
use crate::cmd::{Result, failure};
use outputs::Outputs;
use rows::Rows;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// One process in this many has another text than the one before.
const EDITED_ONE_IN: u64 = 3;

pub(super) fn run(args: &Args) -> Result {
    Place::disturbed(args, |place| {
        let clock: Arc<AtomicU64> = Arc::default();
        let own = Mutex::new(Rows::new("own".to_owned(), Random(args.seed), clock.clone()));
        let posted = Posted { place, clock, own };
        if args.change { changed(args, &posted) } else { lives(args, &posted) }
    })
}

/// Kills and starts until enough were killed, and checks what is left.
fn lives(args: &Args, posted: &Posted) -> Result<String> {
    let mut random = Random(args.seed);
    let mut run = posted.start(&posted.place.program, 0, &[])?;
    posted.answers(PATIENCE)?;
    let clients =
        Clients::begin(posted.place.port, args.seed, true, |number, random| posted.posts(format!("c{number}"), random));
    let seen = clients.seen.clone();
    let Lives { killed, terminated } = Lives::lived(&mut run, posted, (&mut random, args.kills), &clients.threads)?;
    let rows = clients.end()?;
    run.terminate()?;
    let (checked, again) = (posted.check(&rows)?, seen.again.load(Ordering::Relaxed));
    if again == 0 && args.kills >= 20 {
        return Err(failure("no kill met a request that was under way: the kills prove nothing"));
    }
    Ok(format!("{killed} killed, {terminated} terminated; {again} requests were sent again; {checked}"))
}

/// Lets new processes take over, and checks what is left.
fn changed(args: &Args, posted: &Posted) -> Result<String> {
    let mut change = Change::begin(args, posted)?;
    posted.answers(PATIENCE)?;
    let said = change.changed(args)?;
    let rows = change.end()?;
    Ok(format!("{said}; {}", posted.check(&rows)?))
}

/// A run over posted rows.
struct Posted {
    place: Place,
    /// Counts what is sent and what is answered.
    clock: Arc<AtomicU64>,
    /// The rows that are posted between the kills.
    own: Mutex<Rows>,
}

impl Posted {
    /// Compares the outputs with what was acknowledged, and with one run over the same rows.
    fn check(&self, clients: &[Rows]) -> Result<String> {
        let outputs = Outputs::of(&self.place)?;
        let (order, texts) = (outputs.in_order()?, outputs.compared()?);
        let own = self.own.lock().unwrap_or_else(PoisonError::into_inner);
        let sendings: Vec<_> = clients.iter().chain([&*own]).flat_map(|rows| &rows.sendings).collect();
        let checked = order::check(&order, &sendings).map_err(violation)?;
        Ok(format!("{checked}; all outputs are those of one run, by {texts} texts one after the other"))
    }

    /// Posts rows of its own once.
    fn once(&self, rows: &mut Rows, post: &mut rows::Post, within: Duration) -> std::io::Result<Answered> {
        let mut connection = http::connect(([127, 0, 0, 1], self.place.port).into(), within)?;
        let (headers, body) = rows.sent(post);
        let request = http::post(Rows::PATH, &format!("{headers}connection: close\r\n"), &body);
        connection.get_mut().write_all(request.as_bytes())?;
        let response = http::response(&mut connection)?;
        Ok(rows.answered(post, &response))
    }
}

impl Service for Posted {
    type Posts = Rows;

    fn place(&self) -> &Place {
        &self.place
    }

    fn command(&self, program: &Path, number: u64) -> Result<Command> {
        let Place { home, port, snapshot_every, .. } = &self.place;
        if number.is_multiple_of(EDITED_ONE_IN) {
            let text = outputs::text(&format!("listen: \"127.0.0.1:{port}\""), number);
            fs::write(home.join("p.mill"), text).map_err(io("write a text"))?;
        }
        let out = File::options().append(true).create(true).open(home.join("out")).map_err(io("open the output"))?;
        let mut command = Command::new(program);
        command.args(["run", "p.mill", "--state", "state", "--snapshot-every", snapshot_every]);
        command.current_dir(home).stdout(out);
        Ok(command)
    }

    /// A process that takes over listens before it has begun.
    fn has_begun(&self, said: &str) -> bool {
        let is_alone = || said.contains("nothing is taken over") && said.contains("listening at");
        said.contains("took over from process") || is_alone()
    }

    /// It does once it takes rows.
    fn answers(&self, within: Duration) -> Result {
        let (mut rows, since) = (self.own.lock().unwrap_or_else(PoisonError::into_inner), Instant::now());
        let mut post = rows.next();
        while since.elapsed() < within {
            match self.once(&mut rows, &mut post, within) {
                Ok(Answered::Done) => return Ok(()),
                Ok(Answered::Wrong(why)) => return Err(violation(why)),
                Ok(Answered::Again(_)) | Err(_) => sleep(Duration::from_millis(2)),
            }
        }
        Err(violation(format!("no answer within {within:?}")))
    }

    fn posts(&self, name: String, random: Random) -> Rows {
        Rows::new(name, random, self.clock.clone())
    }
}
