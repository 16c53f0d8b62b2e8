use crate::budget::Budgets;
use crate::explain::{Feed, Tunables};
use crate::machine::{LimitedBy, MemoryLimit, Pins, memory_limit};
use crate::placement::Controller;
use crate::wait::{Backoff, Wait};
use crate::wiring::Wiring;
use millstream_core::{Backend, Plan};
use std::fmt;
use std::time::Duration;

/// The deployment on rings: one ring an edge, one tasklet a stage, and how many slots, items and workers.
///
/// ```
/// use millstream_exec::Rings;
/// let rings = Rings::new().workers(2).ring(1024).batch(256);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rings {
    slots: usize,
    batch: Option<usize>,
    workers: Option<usize>,
    wait: Wait,
    pin: bool,
    memory: Option<u64>,
    budgets: Budgets,
    observed: bool,
}

/// Slots of each ring, unless it is set: two batches fit, and a ring of `u64` is 32 KiB, so that a chain of a
/// few stages stays in the second-level cache.
pub(crate) const DEFAULT_SLOTS: usize = 4096;

/// The most that one step moves, unless it is set: what one stage writes, the next of the same worker reads from the nearest
/// caches;
pub(crate) const DEFAULT_BATCH: usize = 2048;
/// or such a part of the ring, if that is more and there is but one: two workers at the ends of a large ring hand their lines
/// over fastest where many lie between them, and those who look often come close to each other.
const PART_OF_RING: usize = 16;

impl Default for Rings {
    fn default() -> Self {
        Self::new()
    }
}

impl Rings {
    /// Rings of 4096 slots, batches of at most 2048, as many workers as pay, and phased waiting.
    #[must_use]
    pub fn new() -> Self {
        Rings {
            slots: DEFAULT_SLOTS,
            batch: None,
            workers: None,
            wait: Wait::Phased,
            pin: false,
            memory: None,
            budgets: Budgets::default(),
            observed: false,
        }
    }

    /// Slots of every ring: a power of two.
    #[must_use]
    pub fn ring(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// The most that one step of a stage moves: at least 1. A step moves what is there; it never waits for a batch to
    /// fill. Unless it is set it is 2048, or a sixteenth of a ring if that is more and there is but
    /// one between source and sink.
    #[must_use]
    pub fn batch(mut self, most: usize) -> Self {
        self.batch = Some(most);
        self
    }

    /// How many threads run the tasklets: at least 1. There are never more than tasklets. If they are more than the cores
    /// that this process may use, it is tried out whether a worker a core moves as much, and then the others sleep: they
    /// only take turns, unless closures wait.
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
    /// is set, the system moves workers as it likes; one that finds itself on the core of another worker leaves it, where
    /// there is a core for each (Linux).
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

    /// The most bytes that the rings of a run may take together, without what values own on the heap. A run that would
    /// take more is refused before anything is allocated.
    ///
    /// Unless it is set: what the control groups of this process allow (Linux, version 1 and 2, the tightest from its
    /// own group to the root), or the machine's memory if that is less; on other systems there is no limit. It is
    /// compared with the whole of it: what else the process holds, other runs among it, is not counted.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// use millstream_exec::{Rings, Run};
    /// let p = pipeline::<u64>().map(|x| x + 1);
    /// let error = p.collect(&Rings::new().ring(4096).memory_limit(40_000), 0..9).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "rings of 4096 slots take 65536 bytes together, and the options allow 40000 bytes: rings of at most 2048 slots fit"
    /// );
    /// ```
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// How long a step of a stage may take; 100 ms unless it is set. A step does not block, and other stages of its
    /// worker wait for it: [`Report::overruns`](crate::Report::overruns) names the stages with a step that took longer,
    /// with by how much. Nothing else becomes of it. Stages with threads of their own (`map_blocking`) have no budget, nor
    /// has anything that runs on the calling thread.
    ///
    /// Once a budget is set, every step is timed, which costs up to a tenth of the speed of cheap stages with small
    /// batches. Unless it is set, steps are timed in the first rounds, in one round of sixteen, and for some rounds behind
    /// one that took over a millisecond: a lone long step can be missed.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// use millstream_exec::{Rings, Run, source};
    /// use std::time::Duration;
    /// let p = pipeline::<u64>().map(|_| std::thread::sleep(Duration::from_millis(2))).named("slow");
    /// let rings = Rings::new().step_budget(Duration::from_secs(60)).step_budget_of("slow", Duration::from_millis(1));
    /// let report = p.run(&rings, source::ready(0..2), |_, _| ())?;
    /// let overrun = report.overruns().next().unwrap();
    /// assert_eq!(overrun.stage, "slow");
    /// assert!(overrun.by >= Duration::from_millis(1));
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    #[must_use]
    pub fn step_budget(mut self, budget: Duration) -> Self {
        self.budgets.every(budget);
        self
    }

    /// As [`step_budget`](Rings::step_budget), for the stage of this name in the plan; `source` and `sink` are the ends.
    /// A name that no stage has is told in [`Report::decisions`](crate::Report::decisions).
    #[must_use]
    pub fn step_budget_of(mut self, stage: &str, budget: Duration) -> Self {
        self.budgets.of_stage(stage, budget);
        self
    }

    /// Whether a run is observed from its first number on: as [`Handle::observe`](crate::Handle::observe), for who has no
    /// handle. Unless it is set, a run is not.
    #[must_use]
    pub fn observe(mut self, on: bool) -> Self {
        self.observed = on;
        self
    }

    pub(crate) fn observed(&self) -> bool {
        self.observed
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// The limit of a run's memory, if there is one.
    pub(crate) fn limit(&self) -> Option<MemoryLimit> {
        self.memory.map(|bytes| MemoryLimit { bytes, by: LimitedBy::Options }).or_else(memory_limit)
    }

    /// Whether the plan's rings fit into the memory that there is.
    pub(crate) fn check_memory(&self, plan: &Plan) -> Result<(), OptionsError> {
        let (slots, bytes) = (self.slots, plan.bytes().unwrap_or(0));
        match self.limit() {
            Some(limit) if bytes as u64 > limit.bytes => {
                let slot_bytes: usize = plan.rings.iter().map(|ring| ring.slot_bytes).sum();
                let fit = usize::try_from(limit.bytes).unwrap_or(usize::MAX) / slot_bytes;
                let fit = fit.checked_ilog2().map_or(0, |log| 1 << log);
                Err(OptionsError::Memory { slots, bytes, limit, fit })
            }
            _ => Ok(()),
        }
    }

    /// Where workers are to be pinned, if they are.
    pub(crate) fn pins(&self, inline: bool) -> Option<Pins> {
        self.pin
            .then(|| if inline { Pins::refused("everything on the calling thread") } else { Pins::on_physical_cores() })
    }

    /// The plan with the rings that it gets here, behind a source.
    #[must_use]
    pub fn planned(&self, plan: Plan, feed: Feed) -> Plan {
        let plan = plan.with_capacity(self.slots).with_source_capacity(feed.slots(self.slots));
        feed.in_front(plan, self.slots)
    }

    /// The numbers of a run of a pipeline of so many rings, those of a fan-in's producers not counted.
    pub(crate) fn tunables(&self, rings: usize) -> Tunables {
        Tunables {
            ring: self.slots,
            batch: self.most(rings),
            back_off: Backoff::THIS,
            pinned: self.pin,
            step_budget: self.budgets.of_others(),
        }
    }

    pub(crate) fn waiting(&self) -> Wait {
        self.wait
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The most that a step moves, in a pipeline of so many rings.
    pub(crate) fn most(&self, rings: usize) -> usize {
        let part = if rings == 1 { self.slots / PART_OF_RING } else { 0 };
        self.batch.unwrap_or(DEFAULT_BATCH.max(part))
    }

    pub(crate) fn check(&self) -> Result<(), OptionsError> {
        if !self.slots.is_power_of_two() {
            return Err(OptionsError::Ring(self.slots));
        }
        if self.batch == Some(0) {
            return Err(OptionsError::Batch);
        }
        if self.workers == Some(0) {
            return Err(OptionsError::Workers);
        }
        Ok(())
    }

    /// How many workers so many tasklets get at most, and why.
    pub(crate) fn most_workers(&self, tasklets: usize, cores: usize) -> (usize, String) {
        let tasklets = tasklets.max(1);
        match self.workers {
            Some(n) if n > tasklets => {
                (tasklets, format!("fixed: {n} were asked for, and there are {tasklets} tasklets to share"))
            }
            Some(n) => (n, "fixed: as asked for".to_owned()),
            None => {
                let reason = "automatic: 1 to begin with; one more is kept where it moves at least 10% more";
                (cores.min(tasklets), reason.to_owned())
            }
        }
    }

    /// How many workers there are to begin with, of so many at most.
    pub(crate) fn first_workers(&self, most: usize) -> usize {
        if self.workers.is_some() { most } else { 1 }
    }

    /// How many workers so many tasklets get, and who decides.
    pub(crate) fn controller(&self, tasklets: usize, cores: usize) -> Controller {
        let (most, _) = self.most_workers(tasklets, cores);
        match self.workers {
            Some(_) if most > cores => {
                let decision =
                    format!("{most} workers, as asked for; {cores}, one a usable core, if they move as much");
                Controller::crowded(most, cores, decision)
            }
            Some(_) => Controller::fixed(most, format!("{most} workers, as asked for")),
            None => {
                let decision = format!("1 worker to begin with; more if they pay, up to {cores} usable cores");
                Controller::automatic(most, decision)
            }
        }
    }
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
    /// A queue of no slots.
    Queue,
    /// No workers.
    Workers,
    /// No producers.
    Producers,
    /// A rule that chooses among rings, where producers share one.
    SharedOrder,
    /// Rings that take more memory than there is.
    Memory {
        /// Slots of each ring.
        slots: usize,
        /// Bytes of all rings.
        bytes: usize,
        /// What they may take.
        limit: MemoryLimit,
        /// The most slots with which they fit; 0 if they never do.
        fit: usize,
    },
}

impl fmt::Display for OptionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OptionsError::Ring(slots) => millstream_ring::CapacityError { slots: *slots }.fmt(f),
            OptionsError::Batch => f.write_str("a batch of 0: a step must be able to move at least 1"),
            OptionsError::Queue => f.write_str("queues of 0 slots: a queue must be able to hold at least 1"),
            OptionsError::Producers => f.write_str("a fan-in of 0 producers: at least 1 has to send"),
            OptionsError::SharedOrder => f.write_str(
                "producers that share a ring come in the order of arrival: a ring each leaves the choice to a rule",
            ),
            OptionsError::Workers => f.write_str("0 workers: somebody has to run the stages"),
            OptionsError::Memory { slots, bytes, limit, fit } => {
                write!(f, "rings of {slots} slots take {bytes} bytes together, and {limit}: ")?;
                match fit {
                    0 => f.write_str("no ring is small enough; fewer stages, or smaller values"),
                    fit => write!(f, "rings of at most {fit} slots fit"),
                }
            }
        }
    }
}

impl std::error::Error for OptionsError {}
