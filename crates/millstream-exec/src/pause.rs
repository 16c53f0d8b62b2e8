//! Pauses inside a step: they end when their time is over, or when the output of the step is no longer wanted.

use crate::Signal;
use crate::shared::Shared;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The payload with which a step unwinds when its result is no longer wanted. It is no failure.
pub(crate) struct GivenUp;

/// Waits for `time`, or until `unwanted` holds; the thread that makes it hold notifies `signal`. If it holds, this
/// unwinds with [`GivenUp`].
pub(crate) fn pause(signal: &Signal, time: Duration, unwanted: impl Fn() -> bool) {
    let deadline = Instant::now().checked_add(time);
    loop {
        let left = deadline.map_or(time, |deadline| deadline.saturating_duration_since(Instant::now()));
        let ticket = signal.announce();
        if unwanted() || left.is_zero() {
            signal.withdraw(ticket);
            break;
        }
        signal.park_timeout(ticket, left);
    }
    if unwanted() {
        resume_unwind(Box::new(GivenUp));
    }
}

/// How a stage on rings pauses.
#[derive(Clone)]
pub(crate) struct Pauses {
    pub(crate) shared: Arc<Shared>,
    /// The stage's first task.
    pub(crate) task: usize,
    /// Whether it is part of a `tee`: then it is not cancelled before it has finished its input.
    pub(crate) side_output: bool,
}

impl Pauses {
    /// Waits for `time`. Unwinds once the run is stopped or the stage is cancelled.
    pub(crate) fn wait(&self, time: Duration) {
        let cancelled = || !self.side_output && self.task < self.shared.cancelled();
        // `surplus` is notified only of such events; steps of tasklets do not wake this thread.
        pause(&self.shared.surplus, time, || self.shared.stopped() || cancelled());
    }
}
