//! Journals that are full, and the job that makes room for them.
//!
//! A journal is trimmed up to what the snapshots need, so room comes from a newer snapshot, and from older ones that
//! go. A journal without room asks for both.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How often all the room that there is has been made, until a journal without room gives up: one round may have been
/// under way when it began to wait.
const ROUNDS: u64 = 3;

/// The journals of a job, and the job, share it.
#[derive(Debug, Default)]
pub(crate) struct Room(Mutex<State>, Condvar);

#[derive(Debug, Default)]
struct State {
    /// Whether there is a journal that may ask.
    used: bool,
    wanted: bool,
    /// How often the job has made all the room that there is.
    rounds: u64,
    /// No more is made.
    rests: bool,
    /// The run has ended.
    over: bool,
}

/// Why the job stops waiting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wake {
    /// A journal asks for room.
    Asked,
    /// The time is over.
    Due,
    /// The job takes no more snapshots.
    Rests,
}

impl Room {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For a journal of the job.
    pub(crate) fn of_journal(self: &Arc<Self>) -> Arc<Self> {
        self.state().used = true;
        self.clone()
    }

    /// Whether there is a journal that may ask for room.
    pub(crate) fn is_used(&self) -> bool {
        self.state().used
    }

    /// Asks the job for room. Returns how often it has made all that there is.
    pub(crate) fn ask(&self) -> u64 {
        let mut state = self.state();
        state.wanted = true;
        self.1.notify_all();
        state.rounds
    }

    pub(crate) fn is_wanted(&self) -> bool {
        self.state().wanted
    }

    pub(crate) fn is_over(&self) -> bool {
        self.state().over
    }

    /// Waits until a journal asks for room, or at most for this time.
    pub(crate) fn wait(&self, period: Option<Duration>) -> Wake {
        let waits = |state: &mut State| !state.wanted && !state.rests;
        let state = match period {
            None => self.1.wait_while(self.state(), waits).unwrap_or_else(PoisonError::into_inner),
            Some(period) => {
                let waited = self.1.wait_timeout_while(self.state(), period, waits);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        match *state {
            State { rests: true, .. } => Wake::Rests,
            State { wanted: true, .. } => Wake::Asked,
            _ => Wake::Due,
        }
    }

    /// The job has made all the room that there is, or has tried to. Who has none asks again.
    pub(crate) fn made(&self, all: bool) {
        let mut state = self.state();
        state.wanted = false;
        state.rounds += u64::from(all);
    }

    /// No more room is made.
    pub(crate) fn rest(&self) {
        self.state().rests = true;
        self.1.notify_all();
    }

    /// The run has ended.
    pub(crate) fn end(&self) {
        self.state().over = true;
        self.rest();
    }
}

/// The wait of a journal that is full.
#[derive(Debug)]
pub(crate) struct Waits {
    since: Instant,
    rounds: u64,
}

impl Waits {
    pub(crate) fn begin(room: &Room) -> Self {
        Waits { since: Instant::now(), rounds: room.ask() }
    }

    pub(crate) fn lasts(&self, time: Duration) -> bool {
        self.since.elapsed() >= time
    }

    /// Asks once more. Returns whether there is no room to be made.
    pub(crate) fn ask(&self, room: &Room) -> bool {
        room.ask() >= self.rounds + ROUNDS
    }
}
