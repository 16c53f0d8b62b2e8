//! Pauses inside a step: they end when their time is over, or when the output of the step is no longer wanted.

use crate::Signal;
use crate::shared::Shared;
use crate::upgrade::shadow_state::ShadowState;
use std::panic::resume_unwind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
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
    /// Waits for `time`. Unwinds once the run is stopped, the stage is cancelled, or its version, which ran beside the
    /// run's, is over.
    pub(crate) fn wait(&self, time: Duration) {
        let cancelled = || !self.side_output && self.task < self.shared.cancelled();
        // `surplus` is notified only of such events; steps of tasklets do not wake this thread.
        let unwanted = || self.shared.stopped() || cancelled() || self.shared.beside.is_over(self.task);
        pause(&self.shared.surplus, time, unwanted);
    }
}

/// The tasks of the versions that run beside the run's, and of those that are over and left in it.
#[derive(Default)]
pub(crate) struct BesideTasks(Mutex<Vec<(Vec<usize>, Weak<ShadowState>)>>);

impl BesideTasks {
    fn lock(&self) -> MutexGuard<'_, Vec<(Vec<usize>, Weak<ShadowState>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// These tasks are those of a version that begins to run beside the run's.
    pub(crate) fn add(&self, tasks: Vec<usize>, version: &Arc<ShadowState>) {
        let mut known = self.lock();
        // Tasks that are gone may have had the same places.
        known.retain(|(of, version)| version.strong_count() > 0 && !of.iter().any(|task| tasks.contains(task)));
        known.push((tasks, Arc::downgrade(version)));
    }

    /// Whether the version that this task belongs to is over.
    fn is_over(&self, task: usize) -> bool {
        let is_over = |version: &Weak<ShadowState>| version.upgrade().is_some_and(|version| version.is_over());
        self.lock().iter().any(|(tasks, version)| tasks.contains(&task) && is_over(version))
    }
}
