//! New processes take over from old ones. First nothing disturbs them, and no client may see anything of it; then both
//! are killed at any moment, and no request may be done twice or lost.

mod filled;
mod nginx;
mod sender;

use super::{All, Ending, Ledger, PAID_IN, PATIENCE, io, terminate, violation};
use crate::chaos::{Args, Random};
use crate::cmd::{Result, failure};
use sender::{Kind, Seen, Sender};
use std::fs;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Two clients of each kind.
const KINDS: [Kind; 8] =
    [Kind::New, Kind::Kept, Kind::Slow, Kind::Pipelined, Kind::New, Kind::Kept, Kind::Slow, Kind::Pipelined];

/// The time before the first upgrade.
const QUIET: Duration = Duration::from_secs(3);

/// The longest time from one upgrade to the next.
const PAUSE_MS: u64 = 200;

/// The longest time from the start of a new process to the kill.
const KILL_MS: u64 = 150;

pub(super) fn run(args: &Args, ledger: &Ledger) -> Result<String> {
    let mut change = Change::begin(args, ledger)?;
    ledger.client().until_answered(
        "/deposit",
        "bank",
        &format!("{{\"to\":\"bank\",\"amount\":{PAID_IN}}}"),
        PATIENCE,
    )?;
    filled::fill(ledger.port, args.accounts)?;
    let all = Arc::new(All::default());
    let calm = change.calm(&all, args.upgrades)?;
    let wild = change.wild(&all)?;
    let nginx = if args.nginx { change.beside_nginx(&all, args.upgrades)? } else { "no nginx".to_owned() };
    let done = all.check(&mut ledger.client(), args.accounts)?;
    let status = terminate(&mut change.now.child.0)?;
    if status.code() != Some(143) {
        return Err(violation(format!("after SIGTERM it ended with {status}")));
    }
    Ok(format!("{calm}; {wild}; {nginx}; {done} transfers, each done once"))
}

/// The processes that there are.
struct Change<'l> {
    ledger: &'l Ledger,
    random: Random,
    seed: u64,
    kills: u64,
    /// The same program, as two files.
    versions: [PathBuf; 2],
    started: u64,
    now: Process,
    /// Those that another one has taken over from, and that have connections.
    old: Vec<Process>,
}

/// A process, and what it says.
struct Process {
    child: Ending,
    said: PathBuf,
}

impl Process {
    fn has_said(&self, text: &str) -> bool {
        fs::read_to_string(&self.said).is_ok_and(|said| said.contains(text))
    }

    fn ended(&mut self) -> Result<Option<ExitStatus>> {
        self.child.0.try_wait().map_err(io("wait"))
    }

    fn kill(&mut self) -> Result {
        self.child.0.kill().and_then(|()| self.child.0.wait().map(drop)).map_err(io("kill"))
    }

    /// Waits until it serves; `false` if it has ended before.
    fn serves(&mut self) -> Result<bool> {
        let since = Instant::now();
        while !self.has_said("listening at") {
            if self.ended()?.is_some() {
                return Ok(false);
            }
            if since.elapsed() > PATIENCE {
                return Err(violation(format!("it does not serve: {}", self.said.display())));
            }
            sleep(Duration::from_millis(1));
        }
        Ok(true)
    }
}

impl<'l> Change<'l> {
    fn begin(args: &Args, ledger: &'l Ledger) -> Result<Self> {
        // The state is that of a program of this name.
        let versions = ["old", "new"].map(|dir| ledger.home.join(dir).join("millstream"));
        for version in &versions {
            fs::create_dir_all(version.with_file_name("")).map_err(io("make a directory"))?;
            fs::copy(&ledger.program, version).map_err(io("copy the program"))?;
        }
        let now = start(ledger, &versions[0], 0)?;
        let (seed, kills, old) = (args.seed, args.kills, Vec::new());
        Ok(Change { ledger, random: Random(seed), seed, kills, versions, started: 0, now, old })
    }

    /// A new process, of the other file.
    fn next(&mut self) -> Result<Process> {
        self.started += 1;
        start(self.ledger, &self.versions[self.started as usize % 2], self.started)
    }

    fn clients(&self, all: &Arc<All>, phase: u64, content: bool) -> (Vec<JoinHandle<Result>>, Arc<Seen>) {
        self.clients_at(self.ledger.port, all, phase, content)
    }

    fn clients_at(&self, port: u16, all: &Arc<All>, phase: u64, content: bool) -> (Vec<JoinHandle<Result>>, Arc<Seen>) {
        let seen = Arc::new(Seen::default());
        let clients = KINDS.iter().zip(0..).map(|(kind, number)| {
            let random = Random((self.seed * 2 + phase) * KINDS.len() as u64 + number);
            let name = format!("c{phase}-{number}");
            let sender = Sender::new(port, name, *kind, random, content, seen.clone());
            let all = all.clone();
            thread::spawn(move || sender.work(&all))
        });
        (clients.collect(), seen)
    }

    /// Old processes that have ended are forgotten: each has to end with 0.
    fn forget(&mut self) -> Result {
        let mut left = Vec::new();
        for mut old in self.old.drain(..) {
            match old.ended()? {
                None => left.push(old),
                Some(status) if status.success() => drop(fs::remove_file(&old.said)),
                Some(status) => return Err(violation(format!("{}: it ended with {status}", old.said.display()))),
            }
        }
        self.old = left;
        Ok(())
    }

    /// Upgrades that nothing disturbs, of which no client sees anything.
    fn calm(&mut self, all: &Arc<All>, upgrades: u64) -> Result<String> {
        let (clients, seen) = self.clients(all, 0, false);
        sleep(QUIET);
        let (quiet, mut during) = (seen.take(), Vec::new());
        for _ in 0..upgrades {
            if clients.iter().any(JoinHandle::is_finished) {
                break;
            }
            sleep(Duration::from_millis(self.random.below(PAUSE_MS)));
            seen.take();
            let mut next = self.next()?;
            let serves = next.serves()?;
            during.extend(seen.take());
            if !serves || !next.has_said("took over from process") {
                return Err(violation(format!("it has not taken over: {}", next.said.display())));
            }
            self.old.push(std::mem::replace(&mut self.now, next));
            self.forget()?;
        }
        end(all, clients)?;
        let since = Instant::now();
        while !self.old.is_empty() {
            if since.elapsed() > PATIENCE {
                let said = self.old[0].said.display();
                return Err(violation(format!("without a connection it does not end: {said}")));
            }
            sleep(Duration::from_millis(5));
            self.forget()?;
        }
        let behind = seen.again.load(Ordering::Relaxed);
        Ok(format!(
            "{upgrades} upgrades: no connection was refused, reset or ended without an answer; {behind} requests were \
             sent again that were behind a last response; answers on new connections took {} without an upgrade, and \
             {} from the start of a new process to its first word",
            times(quiet),
            times(during)
        ))
    }

    /// Upgrades in which processes are killed.
    fn wild(&mut self, all: &Arc<All>) -> Result<String> {
        if self.kills == 0 {
            return Ok("none killed".to_owned());
        }
        all.over.store(false, Ordering::Relaxed);
        let (clients, seen) = self.clients(all, 1, true);
        let (mut killed, mut resumed, mut taken) = (0, 0, 0);
        while killed < self.kills && !clients.iter().any(JoinHandle::is_finished) {
            let mut next = self.next()?;
            sleep(Duration::from_millis(self.random.below(KILL_MS)));
            let which = self.random.below(5);
            if matches!(which, 0 | 1 | 4) {
                next.kill()?;
                killed += 1;
            }
            if which >= 2 {
                self.now.kill()?;
                killed += 1;
            }
            match self.settle(next)? {
                Settled::Old => resumed += 1,
                Settled::New => taken += 1,
                Settled::Neither => {}
            }
            self.ledger.client().audit(PATIENCE)?;
            // A process that was killed while it forwarded ends as it likes.
            for mut old in std::mem::take(&mut self.old) {
                old.kill()?;
            }
        }
        end(all, clients)?;
        let again = seen.again.load(Ordering::Relaxed);
        if again == 0 && self.kills >= 20 {
            return Err(failure("no kill met a request that was under way: the kills prove nothing"));
        }
        Ok(format!(
            "{killed} killed: {resumed} times the old process went on, {taken} times the new one; \
             {again} requests were sent again"
        ))
    }

    /// Waits until it is clear which process serves. If none can, starts another process, as a supervisor does.
    fn settle(&mut self, mut next: Process) -> Result<Settled> {
        let since = Instant::now();
        loop {
            let next_is_there = next.ended()?.is_none();
            // It may still come back until it has handed over for good.
            let old_is_there = self.now.ended()?.is_none() && !self.now.has_said("handed over to");
            if next_is_there && next.has_said("listening at") {
                self.old.push(std::mem::replace(&mut self.now, next));
                return Ok(Settled::New);
            }
            if !next_is_there && old_is_there && self.answers() {
                return Ok(Settled::Old);
            }
            if !next_is_there && !old_is_there {
                let another = self.next()?;
                self.old.push(std::mem::replace(&mut self.now, another));
                if !self.now.serves()? {
                    return Err(violation(format!("it cannot be started again: {}", self.now.said.display())));
                }
                return Ok(Settled::Neither);
            }
            if since.elapsed() > PATIENCE {
                let (old, new) = (self.now.said.display(), next.said.display());
                return Err(violation(format!("neither of two processes serves: {old}, {new}")));
            }
            sleep(Duration::from_millis(5));
        }
    }

    fn answers(&self) -> bool {
        self.ledger.client().audit(Duration::from_millis(200)).is_ok()
    }
}

/// The percentiles of these microseconds, in words.
fn times(mut took: Vec<u64>) -> String {
    took.sort_unstable();
    let ms =
        |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).unwrap_or(&0) / 100;
    let ms = |percent| ms(percent) as f64 / 10.0;
    format!("{} ms (median), {} ms (p99), {} ms (longest)", ms(50), ms(99), ms(100))
}

/// Who serves after a disturbance.
enum Settled {
    Old,
    New,
    Neither,
}

fn start(ledger: &Ledger, program: &std::path::Path, number: u64) -> Result<Process> {
    let said = format!("said-{number}");
    let child = Ending(ledger.start_as(program, &said, &["--take-over"])?);
    Ok(Process { child, said: ledger.home.join(said) })
}

fn end(all: &All, clients: Vec<JoinHandle<Result>>) -> Result {
    all.over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().map_err(|_| failure("a client panicked"))??;
    }
    Ok(())
}
