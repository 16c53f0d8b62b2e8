use crate::machine::Pins;
use crate::placement::Controller;
use crate::wait::Wait;
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
    wait: Wait,
    pin: bool,
}

/// Slots of each ring, unless it is set: two batches fit, and a ring of `u64` is 32 KiB, so that a chain of a
/// few stages stays in the second-level cache.
pub(crate) const DEFAULT_SLOTS: usize = 4096;

/// The most that one step moves, unless it is set.
pub(crate) const DEFAULT_BATCH: usize = 2048;

impl Default for Rings {
    fn default() -> Self {
        Self::new()
    }
}

impl Rings {
    /// Rings of 4096 slots, batches of at most 2048, as many workers as pay, and phased waiting.
    #[must_use]
    pub fn new() -> Self {
        Rings { slots: DEFAULT_SLOTS, batch: DEFAULT_BATCH, workers: None, wait: Wait::Phased, pin: false }
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
    ///
    /// Unless it is set, a run begins with one worker and tries whether more pay, up to one for each core that this
    /// process may use ([`Report::decisions`](crate::Report::decisions) says what came out): a chain of cheap stages is
    /// fastest on one.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// What threads do that have nothing to do.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Whether every worker stays on a core of its own: worker i on the i-th core that this process may use, those on
    /// distinct physical cores first, hyperthread siblings last. For steady latencies, and for measurements. Unless it
    /// is set, the system moves workers as it likes.
    ///
    /// Linux only. [`Report::pinned`](crate::Report::pinned) says which worker got which core, and
    /// [`Report::decisions`](crate::Report::decisions) why one has none: more workers than cores, a refused call,
    /// another system. The run then goes on unpinned. Threads of sources and of stages that block are not pinned, and two
    /// pinned runs take the same cores.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// use millstream_exec::{Rings, Run, source};
    /// let p = pipeline::<u64>().map(|x| x + 1);
    /// let report = p.run(&Rings::new().workers(1).pin_workers(true), source::ready(0..9), |_, _| ())?;
    /// assert_eq!(report.pinned.len(), 1);
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    #[must_use]
    pub fn pin_workers(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// Where workers are to be pinned, if they are.
    pub(crate) fn pins(&self, inline: bool) -> Option<Pins> {
        self.pin
            .then(|| if inline { Pins::refused("everything on the calling thread") } else { Pins::on_physical_cores() })
    }

    pub(crate) fn waiting(&self) -> Wait {
        self.wait
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

    /// The most workers there can be.
    pub(crate) fn most_workers(&self) -> usize {
        self.workers.unwrap_or_else(usable_cores)
    }

    /// How many workers so many tasklets get, and who decides.
    pub(crate) fn controller(&self, tasklets: usize) -> Controller {
        let tasklets = tasklets.max(1);
        match self.workers {
            Some(workers) => {
                let workers = workers.min(tasklets);
                Controller::fixed(workers, format!("{workers} workers, as asked for"))
            }
            None => {
                let cores = usable_cores();
                let decision = format!("1 worker to begin with; more if they pay, up to {cores} usable cores");
                Controller::automatic(cores.min(tasklets), decision)
            }
        }
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
