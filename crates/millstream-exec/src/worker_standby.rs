//! Standby: workers are called and awake before they get tasklets, since a worker that begins late makes the others
//! wait.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The last call for workers, and the workers that have answered it.
pub(crate) struct WorkerStandby {
    number: AtomicU64,
    /// Workers below this one are wanted; 0 if none are.
    wanted: AtomicUsize,
    answered: Box<[AtomicU64]>,
}

impl WorkerStandby {
    /// The standby of at most `most` workers, none of them called yet.
    pub(crate) fn new(most: usize) -> Self {
        let answered = (0..most).map(|_| AtomicU64::new(0)).collect();
        WorkerStandby { number: AtomicU64::new(0), wanted: AtomicUsize::new(0), answered }
    }

    /// Calls `workers` workers, including those that already stand by.
    pub(crate) fn call(&self, workers: usize) {
        self.wanted.store(workers, Ordering::Relaxed);
        // Publishes `wanted` with the call's number: pairs with the load in `calls`.
        self.number.fetch_add(1, Ordering::Release);
    }

    /// Ends the call: no worker is wanted any longer.
    pub(crate) fn dismiss(&self) {
        self.wanted.store(0, Ordering::Relaxed);
    }

    /// Whether this worker is called and has not answered.
    pub(crate) fn calls(&self, worker: usize) -> bool {
        let number = self.number.load(Ordering::Acquire);
        self.wants(worker) && self.answered.get(worker).is_some_and(|last| last.load(Ordering::Relaxed) != number)
    }

    /// Whether this worker is still wanted.
    pub(crate) fn wants(&self, worker: usize) -> bool {
        worker < self.wanted.load(Ordering::Relaxed)
    }

    /// Records that this worker stands by. Only that worker calls it.
    pub(crate) fn answer(&self, worker: usize) {
        let number = self.number.load(Ordering::Acquire);
        self.answered[worker].store(number, Ordering::Relaxed);
    }

    /// Whether all of these workers have answered the last call.
    pub(crate) fn answered(&self, mut workers: Range<usize>) -> bool {
        let number = self.number.load(Ordering::Relaxed);
        workers.all(|worker| self.answered[worker].load(Ordering::Relaxed) == number)
    }
}

#[cfg(test)]
mod tests {
    use super::WorkerStandby;

    #[test]
    fn every_call_needs_a_new_answer() {
        let standby = WorkerStandby::new(3);
        assert!(!standby.calls(0) && !standby.wants(0));
        standby.call(2);
        assert!(standby.calls(0) && standby.calls(1) && !standby.calls(2));
        assert!(!standby.answered(1..2));
        standby.answer(1);
        assert!(standby.answered(1..2) && !standby.answered(0..2));
        assert!(!standby.calls(1) && standby.wants(1));
        standby.dismiss();
        assert!(!standby.wants(1) && !standby.calls(0));
        standby.call(3);
        assert!(standby.calls(1) && standby.calls(2) && !standby.answered(1..2));
    }
}
