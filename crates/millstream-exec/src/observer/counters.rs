//! The counters of a run, as plain data.

use super::{Activity, State};
use crate::ThreadTimes;
use crate::share::share;
use crate::watched::BATCHES;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The counters of a run at a moment. END counts as a number.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// When they were read, since the start of the run.
    pub at: Duration,
    /// Whether the run goes on: not everything is done, and it has not failed and was not stopped.
    pub running: bool,
    /// Whether its last thread has done its work, so that these are the last counters. After a failure or a stop a
    /// thread goes on to the end of its step.
    pub over: bool,
    /// Whether it is observed.
    pub observed: bool,
    /// The rings, in the order of the plan.
    pub rings: Vec<RingCounters>,
    /// The state of the writer of the source's ring; starved once it has ended.
    pub source: State,
    /// The tasklets, in pipeline order, as [`Observer::tasklets`](crate::Observer::tasklets) names them.
    pub tasklets: Vec<TaskletCounters>,
    /// What every started worker does.
    pub workers: Vec<Activity>,
    /// How the workers' threads spent their time, up to their last reading; none if the system does not report it.
    pub threads: Option<ThreadTimes>,
    /// The version of a run whose rings these are.
    pub(super) of: VersionId,
}

/// One version of one run of this process. The default is none of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct VersionId(u64);

impl VersionId {
    pub(super) fn next() -> Self {
        static LAST: AtomicU64 = AtomicU64::new(0);
        VersionId(LAST.fetch_add(1, Ordering::Relaxed) + 1)
    }
}

/// The counters of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RingCounters {
    /// How many numbers were published.
    pub produced: u64,
    /// How many numbers each reader has released, in the order of [`Observer::readers`](crate::Observer::readers). A
    /// reader that is gone counts as having released all.
    pub consumed: Vec<u64>,
    /// The number of slots.
    pub capacity: u64,
}

impl RingCounters {
    /// How many slots hold values that some reader still needs.
    #[must_use]
    pub fn occupied(&self) -> u64 {
        let least = self.consumed.iter().min().unwrap_or(&self.produced);
        self.produced.saturating_sub(*least).min(self.capacity)
    }
}

/// The counters of a tasklet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskletCounters {
    /// Numbers it moved.
    pub moved: u64,
    /// The steps that moved them: batches.
    pub steps: u64,
    /// Numbers it moved in timed steps.
    pub timed_numbers: u64,
    /// How many nanoseconds those steps took.
    pub timed_ns: u64,
    /// How many nanoseconds the longest of them took.
    pub longest_ns: u64,
    /// How many steps moved 1, 2 to 3, 4 to 7, ... numbers, while the run was observed.
    pub batches: [u64; BATCHES],
    /// The bytes of the states of its keys, and of the table of keys, without what keys and states own elsewhere (the
    /// text of a `String`); none if it has no keys.
    pub state_bytes: Option<u64>,
    /// How many calls of its function, or the futures they returned, failed, by an error or a panic, over all tasklets
    /// of the stage. Counted for `try_map`, `try_scan` and their variants.
    pub failures: u64,
    /// How many calls were retries.
    pub retries: u64,
    /// How many values were parked without a call because an earlier value of their key had failed: by
    /// `try_map_or_park` and `try_scan_or_park`.
    pub parked: u64,
    /// How many slots of its output were examined after they were written, over the whole stage. While the run is
    /// observed, these are the slots of the first 16 batches and of one batch in 256 after them. If the type says that
    /// no slot is empty, all published slots count. A sink has none.
    pub looked_at: u64,
    /// How many of those were empty: slots that it left without a value, and slots without a value in its input. A
    /// filter leaves the slots it does not keep empty. In a lane of a choice, the slots of the other lane are empty.
    pub empties: u64,
    /// Its state.
    pub state: State,
    /// Whether it has ended.
    pub done: bool,
}

impl TaskletCounters {
    /// The mean cost of a number in nanoseconds, measured over the timed steps.
    #[must_use]
    pub fn ns_per_number(&self) -> Option<f64> {
        (self.timed_numbers > 0).then(|| self.timed_ns as f64 / self.timed_numbers as f64)
    }

    /// The share of its slots that are empty, from 0 to 1, measured over the examined slots. It is 0 if the type
    /// excludes empty slots, and an estimate otherwise. None if no slot was examined.
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        share(self.empties, self.looked_at)
    }
}
