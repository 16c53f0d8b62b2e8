//! How many numbers a step moves: fewer where they take long.
//!
//! What a step has moved is seen by the next stages once it ends. Until then no mark passes, no signal is looked at,
//! and the other stages of its worker wait. So a step is to end soon, also where a function takes a tenth of a second
//! for each value and a whole batch is there. Steps are measured in timed rounds, which come at the start and after
//! each long round, and where they move one number. So a stage begins, stays where that takes long, and begins again
//! after a long round that was not timed. Where a cheap stage becomes dear, one batch of it takes as long as it takes.

use super::Task;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// A step is to take no longer.
pub(crate) const LONGEST: Duration = Duration::from_millis(10);

/// A step moves at most this many times what the one before moved.
const GROWS: u32 = 16;

/// The most numbers of a task's next step. A stage that was not measured begins with one.
#[derive(Debug)]
pub(super) struct Limit(AtomicUsize);

impl Limit {
    pub(super) fn unknown() -> Self {
        Limit(AtomicUsize::new(1))
    }

    fn start_again(&self) {
        self.0.store(1, Ordering::Relaxed);
    }

    fn lift(&self) {
        self.0.store(usize::MAX, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn most(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes a step of the task, whose lock the caller holds.
    #[inline]
    pub(super) fn note(&self, moved: usize, took: Duration) {
        let most = self.most();
        // The usual case: it was no limit.
        if took <= LONGEST && moved < most {
            return;
        }
        self.0.store(next(most, moved, took), Ordering::Relaxed);
    }
}

impl Task {
    /// A step of some task took long, and it is not known of which.
    pub(crate) fn limit_again(&self) {
        self.limit.start_again();
    }

    /// Its steps move as many numbers as they can, until one is timed.
    pub(crate) fn lift_limit(&self) {
        self.limit.lift();
    }
}

fn next(most: usize, moved: usize, took: Duration) -> usize {
    if took > LONGEST {
        let fit = moved as u128 * LONGEST.as_nanos() / took.as_nanos();
        // A step that moved nothing may have dropped values.
        return if moved == 0 { most } else { (fit as usize).max(1) };
    }
    let grows = [GROWS, 2].into_iter().find(|times| took * *times <= LONGEST);
    if moved < most { most } else { most.saturating_mul(grows.unwrap_or(1) as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limits of the steps of a stage that needs this time for a number, while a whole batch is there.
    fn limits(mut most: usize, steps: usize, cost: Duration) -> Vec<usize> {
        let step = |_| {
            let moved = most.min(2048);
            most = next(most, moved, cost * moved as u32);
            most
        };
        (0..steps).map(step).collect()
    }

    #[test]
    fn a_cheap_stage_soon_moves_whole_batches_and_a_dear_one_what_fits() {
        assert_eq!(limits(1, 4, Duration::from_nanos(10)), [16, 256, 4096, 4096]);
        assert_eq!(limits(1, 3, Duration::from_millis(100)), [1; 3]);
        assert_eq!(limits(1, 6, Duration::from_micros(100)), [16, 32, 64, 64, 64, 64]);
    }

    #[test]
    fn a_stage_that_becomes_dear_is_cut_short_and_one_that_becomes_cheap_is_not() {
        assert_eq!(limits(65_536, 2, Duration::from_millis(1)), [10, 10]);
        assert_eq!(limits(10, 3, Duration::from_nanos(10)), [160, 2560, 2560]);
        // Dropped values take time, and say nothing about a number.
        assert_eq!(next(64, 0, Duration::from_secs(1)), 64);
    }
}
