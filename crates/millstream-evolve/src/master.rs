//! The master, without sockets, threads or clocks: messages and the time go in, messages come out.
//!
//! It knows states by their tokens, and inputs and outputs by their bytes. A token is a hash of the parent's token and
//! the index, and seeds the state's random numbers. Therefore it does not matter which worker computes a state, or how
//! often. The master decides in constant time what to hand out next, which worker to steal from, and where to put lost
//! states.
//!
//! - **Lists.** Each worker has a list of its states, of which two batches are handed out ahead, so that it does not
//!   wait.
//! - **Stealing** (`stealing.rs`). A worker that runs dry gets half of what the fullest list can spare.
//! - **Recovery** (`recovery.rs`). States that are lost with a worker are recomputed.
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
#[cfg(test)]
mod tests;

use crate::histogram::Histogram;
use crate::message::{Request, frame};
use crate::{EvolveError, Token};
use cells::Cells;
use reserve::Reserve;
use roster::Roster;
pub(crate) use round::check_length;
use std::time::Duration;

/// The master sends a keep-alive after this time of silence, for workers that have a limit for it.
const KEEP_ALIVE_EVERY: Duration = Duration::from_secs(10);

/// The number of states in one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Batch {
    /// Always this number.
    Fixed(usize),
    /// Five, and more if a batch of five would take less than a millisecond.
    Adaptive,
}

/// Options of the computation. None of them changes the result.
#[derive(Clone, Debug)]
pub struct Tuning {
    /// The number of states in one request. A worker has up to two requests ahead.
    pub batch: Batch,
    /// Whether workers without work get states of others. If workers will soon run dry, the master takes a few states
    /// from others early, and sends them to the first workers that need one. It holds at most one state for every eight
    /// workers.
    pub steal: bool,
    /// The master keeps the states of every `backup_every`-th round, and recomputes lost states from them. With 1 these
    /// are the parents of the last round. With more, states are sent less often, and more is recomputed. The master
    /// also keeps a record of each state since then, with its input: some 250 bytes for a state and a round.
    pub backup_every: u64,
    /// The time of silence after which the master gives up a worker that owes an answer. Bytes that come from it, or
    /// that it takes after others had waited, end the silence. The time in which the master itself was stopped, or did
    /// other work, does not count. Bytes that the system has taken and not delivered count as taken: choose more than a
    /// message of 4 MiB takes on the slowest link.
    ///
    /// A worker is also silent while it evolves a state: choose more than the longest state takes, or its round fails.
    pub patience: Duration,
}

impl Default for Tuning {
    fn default() -> Self {
        Tuning { batch: Batch::Adaptive, steal: true, backup_every: 8, patience: Duration::from_secs(60) }
    }
}

/// The buffers of bytes to be sent.
pub(crate) trait Outbox {
    /// The buffer of a worker. A part of it may have been sent already.
    fn to(&mut self, worker: usize) -> &mut Vec<u8>;
}

/// The master's side of a population.
#[derive(Debug)]
pub(crate) struct Master {
    tuning: Tuning,
    cells: Cells,
    roster: Roster,
    /// The states of the population, in order.
    alive: Vec<u32>,
    /// The states of the round, in the order in which they were named.
    tasks: Vec<u32>,
    /// Earlier cells are of earlier rounds.
    oldest: u32,
    /// The number of `tasks` that have not evolved.
    left: usize,
    /// Whether the states of the round's children are kept.
    backup: bool,
    /// States that only the master has, and that wait for a worker.
    stranded: Vec<u32>,
    reserve: Reserve,
    failed: Option<EvolveError>,
    /// The measured nanoseconds of one state; 0 before the first measurement.
    cost: u64,
    counts: Counts,
    latency: Histogram,
    /// The time of the latest call.
    now: Duration,
    /// A buffer of one message.
    scratch: Vec<u32>,
}

/// The events since the master began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// States that evolved. A state that evolved again counts again.
    pub evolved: u64,
    /// Requests to evolve states.
    pub batches: u64,
    /// Requests to give states back.
    pub steals: u64,
    /// States that moved to another worker by such a request.
    pub stolen: u64,
    /// States that evolved again because their children were lost.
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

    /// Adds a worker, and returns its number, which becomes free when the worker is lost. The caller calls `join` once
    /// something can be sent to it.
    pub(crate) fn add_worker(&mut self, now: Duration) -> usize {
        self.now = now;
        self.roster.enter(now)
    }

    /// Hands work to a new worker, if there is some.
    pub(crate) fn join(&mut self, worker: usize, out: &mut impl Outbox) {
        self.place_stranded(out);
        self.seek(worker, out);
    }

    /// Sends a keep-alive to each worker that has been sent nothing for long, by the real time.
    pub(crate) fn keep_alive(&mut self, real: Duration, out: &mut impl Outbox) {
        for (worker, record) in self.roster.workers.iter_mut().enumerate() {
            if record.here && real.saturating_sub(record.last_sent) >= KEEP_ALIVE_EVERY {
                record.last_sent = real;
                frame(out.to(worker), &Request::KeepAlive).end();
            }
        }
    }

    /// Sends `End` to all workers.
    pub(crate) fn end(&mut self, out: &mut impl Outbox) {
        for (worker, _) in self.roster.workers.iter().enumerate().filter(|(_, record)| record.here) {
            frame(out.to(worker), &Request::End).end();
        }
    }

    /// The number of workers.
    pub(crate) fn workers(&self) -> usize {
        self.roster.here()
    }

    /// Why the round cannot end, if it cannot.
    pub(crate) fn failure(&mut self) -> Option<EvolveError> {
        self.failed.take()
    }

    #[cfg(feature = "locked")]
    pub(crate) fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    pub(crate) fn counts(&self) -> Counts {
        self.counts
    }

    /// The times from an answer that left a worker without work to the call of `written` for the request that ended
    /// this.
    pub(crate) fn latency(&self) -> &Histogram {
        &self.latency
    }

    pub(crate) fn forget_latency(&mut self) {
        self.latency.clear();
    }

    /// All bytes for this worker have been written to its socket. A caller whose clock leaves times out also gives the
    /// real time.
    pub(crate) fn written(&mut self, worker: usize, now: Duration, real: Duration) {
        let record = &mut self.roster.workers[worker];
        (record.last_sent, record.stalled) = (real, false);
        if let Some(answered) = record.handed_for.take() {
            self.latency.add(now.saturating_sub(answered));
        }
    }

    /// Whether this worker was without work, and the request that ended this is not written yet.
    #[cfg(feature = "locked")]
    pub(crate) fn awaits_written(&self, worker: usize) -> bool {
        self.roster.workers.get(worker).is_some_and(|record| record.handed_for.is_some())
    }

    /// For each worker: its number, the working and waiting time that it reports, and the number of states that it has
    /// evolved.
    pub(crate) fn spent(&self) -> impl Iterator<Item = (usize, Duration, Duration, u64)> {
        let here = self.roster.workers.iter().enumerate().filter(|(_, record)| record.here);
        here.map(|(worker, record)| {
            let [working, waiting] = [record.spent.working, record.spent.waiting].map(Duration::from_nanos);
            (worker, working, waiting, record.evolved)
        })
    }

    /// The population with its states as bytes; `None` unless all of them were kept.
    pub(crate) fn kept(&self) -> Option<Vec<(Token, &[u8])>> {
        let state = |cell: &u32| {
            let cell = self.cells.get(*cell);
            Some((cell.token, &self.cells.backups[cell.backup.clone()?]))
        };
        self.alive.iter().map(state).collect()
    }
}
