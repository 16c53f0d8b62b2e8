use crate::wiring::Wiring;
use millstream_core::Backend;
use std::fmt;

/// The deployment on rings: one ring an edge, one tasklet a stage, and how many slots, items and workers.
///
/// ```
/// use millstream_exec::Rings;
/// let rings = Rings::new().workers(2).ring(1024).batch(256);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rings {
    slots: usize,
    batch: usize,
    workers: Option<usize>,
}

/// Slots of each ring, unless it is set: two batches fit twice, and a ring of `u64` is 32 KiB, so that a chain of a
/// few stages stays in the second-level cache.
pub(crate) const DEFAULT_SLOTS: usize = 4096;

/// The most that one step moves, unless it is set.
pub(crate) const DEFAULT_BATCH: usize = 1024;

impl Default for Rings {
    fn default() -> Self {
        Self::new()
    }
}

impl Rings {
    /// Rings of 4096 slots, batches of at most 1024, and one worker for each core that this process may use, but no
    /// more than there are tasklets.
    #[must_use]
    pub fn new() -> Self {
        Rings { slots: DEFAULT_SLOTS, batch: DEFAULT_BATCH, workers: None }
    }

    /// Slots of every ring: a power of two.
    #[must_use]
    pub fn ring(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// The most that one step of a stage moves: at least 1. A step moves what is there; it never waits for a batch to
    /// fill.
    #[must_use]
    pub fn batch(mut self, most: usize) -> Self {
        self.batch = most;
        self
    }

    /// How many threads run the tasklets: at least 1. There are never more than tasklets.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    pub(crate) fn most(&self) -> usize {
        self.batch
    }

    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if !self.slots.is_power_of_two() {
            return Err(OptionsError::Ring(self.slots));
        }
        if self.batch == 0 {
            return Err(OptionsError::Batch);
        }
        if self.workers == Some(0) {
            return Err(OptionsError::Workers);
        }
        Ok(())
    }

    /// How many workers to start for so many tasklets.
    pub(crate) fn workers_for(&self, tasklets: usize) -> usize {
        self.workers.unwrap_or_else(usable_cores).min(tasklets).max(1)
    }
}

/// The cores that this process may use: its affinity mask and its cgroup's quota, not the host's count.
pub(crate) fn usable_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

impl Backend for Rings {
    type Wiring = Wiring;
}

/// Options that no run can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionsError {
    /// A ring of so many slots.
    Ring(usize),
    /// A batch of nothing.
    Batch,
    /// No workers.
    Workers,
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionsError::Ring(slots) => millstream_ring::CapacityError { slots: *slots }.fmt(f),
            OptionsError::Batch => f.write_str("a batch of 0: a step must be able to move at least 1"),
            OptionsError::Workers => f.write_str("0 workers: somebody has to run the stages"),
        }
    }
}

impl std::error::Error for OptionsError {}
