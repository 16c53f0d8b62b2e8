//! The master, without sockets, threads or clocks: messages and the time go in, messages come out.
//!
//! It knows states by their tokens, and inputs and outputs by their bytes. A token is a hash of the parent's token and
//! the index, and seeds the state's random numbers; so it does not matter which worker computes a state, or how often.
//! What the master decides, it decides in constant time: what to hand out next, which worker to steal from, where to
//! put what was lost.
//!
//! - **Lists.** Each worker has a list of its states, of which two batches are handed out ahead, so that it does not
//!   wait.
//! - **Stealing** (`stealing.rs`). A worker that runs dry gets half of what the fullest list can spare.
//! - **Recovery** (`recovery.rs`). What is lost with a worker is computed again.
//! - **Memory.** The master keeps the states of the last round whose states were kept, a few that are on their way to
//!   another worker, and every input since. The bytes of a round are in a few arenas, which are used again. Queues
//!   share their memory (`lines.rs`), reserved at the beginning of a round, so the loop allocates nothing once warm.

mod answers;
mod cells;
mod lines;
mod load;
mod recovery;
mod reserve;
mod roster;
mod round;
mod stealing;

use crate::histogram::Histogram;
use crate::message::{Request, frame};
use crate::{EvolveError, Token};
use cells::Cells;
use reserve::Reserve;
use roster::Roster;
pub(crate) use round::check_length;
use std::time::Duration;

/// A worker that gives its master up after some time of silence hears of it so often.
const LIVES_EVERY: Duration = Duration::from_secs(10);

/// How many states are handed out at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Always so many.
    Fixed(usize),
    /// Five, and more where a state takes so little time that a batch of five would take less than a millisecond.
    Adaptive,
}

/// What can be chosen about how a population is computed. None of it changes the result.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// How many states are handed out at once; a worker has up to two batches.
    pub batch: Batch,
    /// Whether workers without work get states of others. Where workers will soon have none, the master takes a few states
    /// from others before, and holds them for whoever needs them first: for an eighth of the workers at most.
    pub steal: bool,
    /// The master keeps the states of every so many rounds, from which it computes again what is lost with a worker. With
    /// 1 that is the last round's parents; with more, states are sent less often and more is computed again.
    pub backup_every: u64,
    /// A worker that owes an answer is given up when nothing has come from it for so long, and nothing that waited to be
    /// sent could be sent to it. A time in which the master itself was stopped, or elsewhere, does not count.
    pub patience: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { batch: Batch::Adaptive, steal: true, backup_every: 8, patience: Duration::from_secs(60) }
    }
}

/// Where the master puts what is to be sent to each worker.
pub(crate) trait Outbox {
    /// What is to be sent, of which some may have been sent already.
    fn to(&mut self, worker: usize) -> &mut Vec<u8>;
}

/// The master's side of a population.
#[derive(Debug)]
pub(crate) struct Master {
    tuning: Tuning,
    cells: Cells,
    roster: Roster,
    /// The population, in its order.
    alive: Vec<u32>,
    /// The states of the round, in the order in which they were named.
    tasks: Vec<u32>,
    /// Cells before this one are of earlier rounds.
    oldest: u32,
    /// How many of them have not evolved.
    left: usize,
    /// Whether the round's children are kept.
    backup: bool,
    /// States that are with the master alone and wait for a worker.
    stranded: Vec<u32>,
    reserve: Reserve,
    failed: Option<EvolveError>,
    /// By measurement, nanoseconds that a state takes; none yet if 0.
    cost: u64,
    counts: Counts,
    latency: Histogram,
    /// The latest time that was told.
    now: Duration,
    /// Used by one message.
    scratch: Vec<u32>,
}

/// What has happened since the master began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// States that were evolved, more than once where one was lost.
    pub evolved: u64,
    /// Messages that asked for it.
    pub batches: u64,
    /// Attempts to take states from a worker.
    pub steals: u64,
    /// States that were moved so.
    pub stolen: u64,
    /// States that were evolved again, since their children were lost.
    pub again: u64,
    /// Workers that were lost.
    pub lost: u64,
}

impl Master {
    pub(crate) fn new(tuning: Tuning) -> Self {
        Master {
            tuning,
            cells: Cells::default(),
            roster: Roster::default(),
            alive: Vec::new(),
            tasks: Vec::new(),
            oldest: 0,
            left: 0,
            backup: false,
            stranded: Vec::new(),
            reserve: Reserve::default(),
            failed: None,
            cost: 0,
            counts: Counts::default(),
            latency: Histogram::default(),
            now: Duration::ZERO,
            scratch: Vec::new(),
        }
    }

    /// A worker is there. Its number is free again when it is lost. `join` is to be called as soon as it can be sent
    /// something.
    pub(crate) fn add_worker(&mut self, now: Duration) -> usize {
        self.now = now;
        self.roster.sit(now)
    }

    /// A new worker gets something to do, if there is something.
    pub(crate) fn join(&mut self, worker: usize, out: &mut impl Outbox) {
        self.place_stranded(out);
        self.seek(worker, out);
    }

    /// Who has been told nothing for long is told that the master lives.
    pub(crate) fn tell_silent(&mut self, now: Duration, out: &mut impl Outbox) {
        for (worker, record) in self.roster.workers.iter_mut().enumerate() {
            if record.here && now.saturating_sub(record.told) >= LIVES_EVERY {
                record.told = now;
                frame(out.to(worker), &Request::Lives).end();
            }
        }
    }

    /// Nobody is needed any more.
    pub(crate) fn end(&mut self, out: &mut impl Outbox) {
        for (worker, _) in self.roster.workers.iter().enumerate().filter(|(_, record)| record.here) {
            frame(out.to(worker), &Request::End).end();
        }
    }

    /// How many workers there are.
    pub(crate) fn workers(&self) -> usize {
        self.roster.here()
    }

    /// Why the round cannot end.
    pub(crate) fn failure(&mut self) -> Option<EvolveError> {
        self.failed.take()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// From an answer that left a worker with nothing to do to the request that gave it something, as `written` was told.
    pub(crate) fn latency(&self) -> &Histogram {
        &self.latency
    }

    pub(crate) fn forget_latency(&mut self) {
        self.latency.clear();
    }

    /// Everything for this worker has been written to its socket.
    pub(crate) fn written(&mut self, worker: usize, now: Duration) {
        let record = &mut self.roster.workers[worker];
        (record.told, record.stalled) = (now, false);
        if let Some(answered) = record.handed_for.take() {
            self.latency.add(now.saturating_sub(answered));
        }
    }

    /// Working and waiting time of each worker as it told, and how many states it has evolved.
    pub(crate) fn spent(&self) -> impl Iterator<Item = (usize, Duration, Duration, u64)> {
        let here = self.roster.workers.iter().enumerate().filter(|(_, record)| record.here);
        here.map(|(worker, record)| {
            let [working, waiting] = [record.spent.working, record.spent.waiting].map(Duration::from_nanos);
            (worker, working, waiting, record.evolved)
        })
    }

    /// The population with its states as bytes, where all of them were kept.
    pub(crate) fn kept(&self) -> Option<Vec<(Token, &[u8])>> {
        let state = |cell: &u32| {
            let cell = self.cells.get(*cell);
            Some((cell.token, &self.cells.backups[cell.backup.clone()?]))
        };
        self.alive.iter().map(state).collect()
    }
}
