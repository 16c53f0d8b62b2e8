//! What a run counts, as plain data.

use super::{Activity, State};
use crate::ThreadTimes;
use crate::watched::BATCHES;
use std::time::Duration;

/// What a run has counted up to a moment. Numbers below END and END itself count alike.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Counters {
    /// When they were read: so long after the start.
    pub at: Duration,
    /// Whether the run goes on.
    pub running: bool,
    /// Whether it is observed.
    pub observed: bool,
    /// The rings, as in the plan.
    pub rings: Vec<RingCounters>,
    /// What whoever writes the source's ring could do; starved once it has ended.
    pub source: State,
    /// The tasklets, in pipeline order, as [`Observer::tasklets`](crate::Observer::tasklets) names them.
    pub tasklets: Vec<TaskletCounters>,
    /// What every worker that was started does.
    pub workers: Vec<Activity>,
    /// What the workers' threads did with their time, as far as they have looked, where the system tells.
    pub threads: Option<ThreadTimes>,
}

/// The counters of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RingCounters {
    /// How many numbers were published.
    pub produced: u64,
    /// How many each reader has released, in the order of [`Observer::readers`](crate::Observer::readers). One that is gone needs nothing: it counts as
    /// if it had all.
    pub consumed: Vec<u64>,
    /// How many slots there are.
    pub capacity: u64,
}

impl RingCounters {
    /// How many slots hold what some reader still needs.
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
    /// The steps in which it moved them: batches.
    pub steps: u64,
    /// Numbers it moved in steps that were timed.
    pub timed_numbers: u64,
    /// How many nanoseconds those steps took.
    pub timed_ns: u64,
    /// How many nanoseconds the longest of them took.
    pub longest_ns: u64,
    /// How many steps moved 1, 2 to 3, 4 to 7, ... numbers, while the run was observed.
    pub batches: [u64; BATCHES],
    /// How many calls of its function, or the futures it gave, came to an error; of the whole stage, by whichever of its
    /// tasklets. Of `try_map` and its sisters; those that send failures aside count panics as well.
    pub failures: u64,
    /// How many of them were tried again.
    pub retries: u64,
    /// How many values were not tried, and put aside, because one of their key had failed: by `try_map_or_park`.
    pub parked: u64,
    /// How many slots of its output were looked at, once they were written; of the whole stage. While the run is observed these
    /// are all of the first 16 batches, and of one in 256 behind. Where the type says that no slot is empty they are all that
    /// are published; a sink has none.
    pub looked_at: u64,
    /// How many of those were empty: what it left without a value, and what had none when it came. What a filter does not
    /// keep is empty behind it; so is, behind a stage in a lane of a choice, what the other lane has.
    pub empties: u64,
    /// What it could do.
    pub state: State,
    /// Whether it has come to its end.
    pub done: bool,
}

impl TaskletCounters {
    /// What a number costs on average, in nanoseconds, by the steps that were timed.
    #[must_use]
    pub fn ns_per_number(&self) -> Option<f64> {
        (self.timed_numbers > 0).then(|| self.timed_ns as f64 / self.timed_numbers as f64)
    }

    /// The share of its slots that it leaves empty, from 0 to 1, by those that were looked at: exact where it leaves none by its
    /// type, and an estimate elsewhere. None where nobody has looked.
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        share(self.empties, self.looked_at)
    }
}

/// The share of a whole.
pub(crate) fn share(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
