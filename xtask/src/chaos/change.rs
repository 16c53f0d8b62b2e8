//! New processes take over from old ones. First nothing disturbs them, and no client may see anything of it; then both
//! are killed at any moment, and what clients were answered has to hold.

mod nginx;

use super::clients::Clients;
use super::lives::SAID_AFTER;
use super::processes::{PATIENCE, Process, Service, io, violation};
use super::{Args, Random};
use crate::cmd::{Result, failure};
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time before the first upgrade.
const QUIET: Duration = Duration::from_secs(3);

/// The longest time from one upgrade to the next.
const PAUSE_MS: u64 = 200;

/// The time from the start of a new process until it has begun, if none was measured.
const BEGINS_MS: u64 = 75;

/// The processes that there are.
pub(super) struct Change<'s, S: Service> {
    service: &'s S,
    random: Random,
    seed: u64,
    kills: u64,
    /// The same program, as two files.
    versions: [PathBuf; 2],
    started: u64,
    /// The mean time from the start of a new process until it has begun.
    begins_ms: u64,
    now: Process,
    /// Those that another one has taken over from, and that have connections.
    old: Vec<Process>,
    /// The requests of all clients that have ended.
    posts: Vec<S::Posts>,
}

impl<'s, S: Service> Change<'s, S> {
    /// Starts the first process.
    pub(super) fn begin(args: &Args, service: &'s S) -> Result<Self> {
        // The state is that of a program of this name.
        let versions = ["old", "new"].map(|dir| service.place().home.join(dir).join("millstream"));
        for version in &versions {
            fs::create_dir_all(version.with_file_name("")).map_err(io("make a directory"))?;
            fs::copy(&service.place().program, version).map_err(io("copy the program"))?;
        }
        let now = service.start(&versions[0], 0, &["--take-over"])?;
        let (seed, kills, old, posts) = (args.seed, args.kills, Vec::new(), Vec::new());
        Ok(Change {
            service,
            random: Random(seed),
            seed,
            kills,
            versions,
            started: 0,
            begins_ms: BEGINS_MS,
            now,
            old,
            posts,
        })
    }

    /// Changes the process in every way that the arguments name. Returns how it went.
    pub(super) fn changed(&mut self, args: &Args) -> Result<String> {
        let calm = self.calm(args.upgrades)?;
        let wild = self.wild()?;
        let nginx = if args.nginx { self.beside_nginx(args.upgrades)? } else { "no nginx".to_owned() };
        Ok(format!("{calm}; {wild}; {nginx}"))
    }

    /// Ends the process. Returns the requests of all clients.
    pub(super) fn end(mut self) -> Result<Vec<S::Posts>> {
        self.now.terminate()?;
        Ok(self.posts)
    }

    /// A new process, of the other file.
    fn next(&mut self) -> Result<Process> {
        self.started += 1;
        self.service.start(&self.versions[self.started as usize % 2], self.started, &["--take-over"])
    }

    fn clients(&self, port: u16, phase: u64, content: bool) -> Clients<S::Posts> {
        let posts = |number, random| self.service.posts(format!("c{phase}-{number}"), random);
        Clients::begin(port, self.seed * 3 + phase, content, posts)
    }

    /// Old processes that have ended are forgotten: each has to end with 0.
    fn forget(&mut self) -> Result {
        let mut left = Vec::new();
        for mut old in self.old.drain(..) {
            match old.ended()? {
                None => left.push(old),
                Some(status) if status.success() => old.forget(),
                Some(status) => return Err(violation(format!("{}: it ended with {status}", old.said.display()))),
            }
        }
        self.old = left;
        Ok(())
    }

    /// Upgrades that nothing disturbs, of which no client sees anything.
    fn calm(&mut self, upgrades: u64) -> Result<String> {
        let clients = self.clients(self.service.place().port, 0, false);
        let seen = clients.seen.clone();
        sleep(QUIET);
        let (quiet, mut during, mut began) = (seen.take(), Vec::new(), Duration::ZERO);
        for upgrade in 1..=upgrades {
            if clients.one_has_ended() {
                break;
            }
            sleep(Duration::from_millis(self.random.below(PAUSE_MS)));
            seen.take();
            let (mut next, since) = (self.next()?, Instant::now());
            let begins = next.begins(self.service)?;
            began += since.elapsed();
            during.extend(seen.take());
            if !begins || !next.has_said("took over from process") {
                return Err(violation(format!("it has not taken over: {}", next.said.display())));
            }
            self.old.push(std::mem::replace(&mut self.now, next));
            self.forget()?;
            if upgrade.is_multiple_of(SAID_AFTER) {
                eprintln!("{upgrade} of {upgrades} upgrades");
            }
        }
        self.posts.extend(clients.end()?);
        self.begins_ms = (began.as_millis() as u64).checked_div(upgrades).unwrap_or(BEGINS_MS).max(1);
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
    fn wild(&mut self) -> Result<String> {
        if self.kills == 0 {
            return Ok("none killed".to_owned());
        }
        let clients = self.clients(self.service.place().port, 1, true);
        let seen = clients.seen.clone();
        let (mut killed, mut begun, mut resumed, mut taken, mut said) = (0, 0, 0, 0, 0);
        while killed < self.kills && !clients.one_has_ended() {
            sleep(Duration::from_millis(self.random.below(2 * self.begins_ms)));
            let mut next = self.next()?;
            // Half of them have begun by then, if nothing has disturbed them before.
            sleep(Duration::from_millis(self.random.below(2 * self.begins_ms)));
            begun += u64::from(self.service.has_begun(&next.text()));
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
            self.service.answers(PATIENCE)?;
            // A process that was killed while it forwarded ends as it likes.
            self.old.clear();
            if killed / SAID_AFTER > said {
                said = killed / SAID_AFTER;
                eprintln!("{killed} of {} killed", self.kills);
            }
        }
        self.posts.extend(clients.end()?);
        let again = seen.again.load(Ordering::Relaxed);
        if again == 0 && self.kills >= 20 {
            return Err(failure("no kill met a request that was under way: the kills prove nothing"));
        }
        Ok(format!(
            "{killed} killed, {begun} times after the new process had begun: {resumed} times the old process went on, \
             {taken} times the new one; {again} requests were sent again"
        ))
    }

    /// Waits until it is clear which process serves. If none can, starts another process, as a supervisor does.
    fn settle(&mut self, mut next: Process) -> Result<Settled> {
        let since = Instant::now();
        loop {
            let next_is_there = next.ended()?.is_none();
            // It may still come back until it has handed over for good.
            let old_is_there = self.now.ended()?.is_none() && !self.now.has_said("handed over to");
            if next_is_there && self.service.has_begun(&next.text()) {
                self.old.push(std::mem::replace(&mut self.now, next));
                return Ok(Settled::New);
            }
            if !next_is_there && old_is_there && self.service.answers(Duration::from_millis(200)).is_ok() {
                return Ok(Settled::Old);
            }
            if !next_is_there && !old_is_there {
                let another = self.next()?;
                self.old.push(std::mem::replace(&mut self.now, another));
                if !self.now.begins(self.service)? {
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
}

/// Who serves after a disturbance.
enum Settled {
    Old,
    New,
    Neither,
}

/// The percentiles of these microseconds, in words.
fn times(mut took: Vec<u64>) -> String {
    took.sort_unstable();
    let ms =
        |percent: usize| took.get((took.len() * percent / 100).min(took.len().saturating_sub(1))).unwrap_or(&0) / 100;
    let ms = |percent| ms(percent) as f64 / 10.0;
    format!("{} ms (median), {} ms (p99), {} ms (longest)", ms(50), ms(99), ms(100))
}
