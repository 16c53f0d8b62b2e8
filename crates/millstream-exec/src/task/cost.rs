//! The cost of a task's numbers, from its timed steps.

use super::{Task, add};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How many numbers in timed steps tell the cost of one, if most of them moved in steps of another task.
const ENOUGH: u64 = 1_024;

impl Task {
    /// Whether most of its numbers moved in steps of another task, whose time has its own.
    fn is_elsewhere(&self) -> bool {
        self.elsewhere.load(Ordering::Relaxed) * 2 > self.moved()
    }

    /// The numbers that timed steps moved, and the nanoseconds those steps took. Zero for a task that [is
    /// elsewhere](Task::is_elsewhere), if they were few: END by itself says nothing about the cost of a number.
    pub(crate) fn timed(&self) -> (u64, u64) {
        let moved = self.timed_moved.load(Ordering::Relaxed);
        if moved < ENOUGH && self.is_elsewhere() {
            return (0, 0);
        }
        (moved, self.timed_ns.load(Ordering::Relaxed))
    }

    /// Nanoseconds a number, measured over the timed steps.
    pub(crate) fn cost(&self) -> Option<f64> {
        let (moved, ns) = self.timed();
        (moved > 0).then(|| ns as f64 / moved as f64)
    }

    /// The nanoseconds that it has worked since the pipeline was last changed: those of all tasks are of the same time.
    pub(crate) fn load(&self) -> f64 {
        let moved = self.moved().saturating_sub(self.weighed_from.load(Ordering::Relaxed));
        self.cost().map_or(0.0, |cost| cost * moved as f64)
    }

    /// Its load counts from now on.
    pub(crate) fn weigh_from_now(&self) {
        self.weighed_from.store(self.moved(), Ordering::Relaxed);
    }

    pub(super) fn time(&self, moved: u64, took: Duration) {
        let ns = took.as_nanos() as u64;
        // A step that moves nothing does not count towards the cost of a number. It can still take long: it may drop
        // the user's values.
        if moved > 0 {
            add(&self.timed_moved, moved);
            add(&self.timed_ns, ns);
        }
        if self.budget.is_some_and(|budget| took > budget) {
            add(&self.overruns, 1);
        }
        if ns > self.longest_ns.load(Ordering::Relaxed) {
            self.longest_ns.store(ns, Ordering::Relaxed);
        }
    }
}
