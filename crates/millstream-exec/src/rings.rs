mod snapshots;
mod upgrades;

use crate::OptionsError;
use crate::budget::Budgets;
use crate::explain::{Feed, Tunables};
use crate::machine::{LimitedBy, MemoryLimit, Pins, memory_limit};
use crate::marks::{AtEnd, Every};
use crate::placement::Wanted;
use crate::planned::Planned;
use crate::snapshot::Start;
use crate::stages_on::StagesOn;
use crate::wait::{Backoff, Wait};
use millstream_core::Plan;
use std::time::Duration;

/// The deployment on rings, with its options: a ring for each edge, a tasklet for each stage, and workers that run the
/// tasklets.
///
/// ```
/// use millstream::prelude::*;
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
    stages_on: StagesOn,
    snapshots: Option<Every>,
    at_end: Option<AtEnd>,
    beginning: Option<Start>,
    upgrades: Vec<Planned>,
}

/// The default slots of each ring: two batches fit, and a ring of `u64` takes 32 KiB, so that a chain of a few stages
/// stays in the second-level cache.
pub(crate) const DEFAULT_SLOTS: usize = 4096;

/// The default of the most numbers that one step moves: the next stage of the same worker reads them from the nearest
/// caches.
pub(crate) const DEFAULT_BATCH: usize = 2048;
/// In a pipeline with one ring, a step moves this part of the ring if that is more. Two workers at the ends of a large
/// ring hand cache lines over fastest with many lines between them; frequent looks bring them close together.
const PART_OF_RING: usize = 16;

impl Default for Rings {
    fn default() -> Self {
        Self::new()
    }
}

impl Rings {
    /// Rings of 4096 slots, batches of at most 2048, as many workers as improve throughput, and phased waiting.
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
            stages_on: StagesOn::Faster,
            snapshots: None,
            at_end: None,
            beginning: None,
            upgrades: Vec::new(),
        }
    }

    /// Sets the slots of every ring: a power of two.
    #[must_use]
    pub fn ring(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }

    /// Sets the most numbers that one step of a stage moves: at least 1. A step moves the numbers that are there; it
    /// never waits for a batch to fill, and moves fewer where numbers take long, so that it ends within some 10 ms.
    /// Where they begin to take long, that is after one batch. The default is 2048, or a sixteenth of the ring if that
    /// is more and the pipeline has a single ring between source and sink. Where a stage's items own something, such as
    /// a `Vec`, a step moves at most 512.
    #[must_use]
    pub fn batch(mut self, most: usize) -> Self {
        self.batch = Some(most);
        self
    }

    /// Sets how many threads run the tasklets: at least 1, and never more than there are tasklets. If they outnumber
    /// the cores that this process may use, the run tries whether one worker for each core moves as much. If so, the
    /// other workers sleep: unless closures wait, they would only take turns.
    ///
    /// By default a run begins with one worker and tries whether more improve throughput, up to one for each core that
    /// this process may use. A chain of cheap stages is fastest on one. [`Report::decisions`](crate::Report::decisions)
    /// has the result.
    ///
    /// While a run has one worker, its values go past the rings, if the source is [`ready`](crate::source::ready) and
    /// every stage can do without its ring: the worker takes a value from the source, through all stages, to the sink,
    /// before the next one begins, and the pipeline costs what a loop by hand does. These stages can: `map`,
    /// `map_owned`, `cloned`, `filter`, `filter_map`, `try_map`, `scan`, `fold` and what is made of them, windows by
    /// number, stages that keep a part of a text, and bodies of them in `fanout`, `both`, `choose`, `merge` and a
    /// `shard` of one. A stage that writes text, unless it is the last one behind a cut, a `shard` of more, a
    /// `feedback`, a box and a block of wires cannot. Nor can a run whose output the program takes (`iter`, `through`,
    /// a stream), and one whose [batch](Rings::batch) is less than 64. The book has the whole table, in "Limits".
    ///
    /// Where the first stage cuts text, as `lines` does, any source will do: its blocks go through its own ring, and
    /// the lines past all others, also through a `flat_map` and other stages that start a clock. Values go through the
    /// rings while the run has or tries another worker, while a snapshot or an upgrade is under way, after an upgrade,
    /// if a number takes more than a microsecond, and in a few of each hundred steps, which show what each stage costs.
    /// Without a set [batch](Rings::batch) a step past the rings takes up to 50 microseconds. Its states are moved into
    /// local variables and back, if they and the source's iterator have at most 256 bytes together.
    ///
    /// If the source may wait, the first stage does not cut text, and one worker is set here or the run is on
    /// [`Inline`](crate::Inline), stages are *fused*: a chain of `map`, `map_owned`, `cloned`, `filter`, `filter_map`
    /// and `try_map`, with a last stage that is one of these, a `scan` or a `fold`, runs as one loop from ring to ring.
    /// The right side of a [`then`](millstream_core::Arrow::then) begins another chain, and inside `shard` and
    /// `shard_by` there are none. [`fused_into`](crate::StageReport::fused_into) says in whose loop a stage ran. A run
    /// that was set to one worker keeps these loops if it gets more workers while it goes on.
    ///
    /// Nothing else changes: not the slots, the plan, the names in errors or the counts of the report. If a stage
    /// fails, the stages before it in its loop have not run ahead. The plan's bytes still count all rings.
    #[must_use]
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets how threads wait while they have no work.
    #[must_use]
    pub fn wait(mut self, wait: Wait) -> Self {
        self.wait = wait;
        self
    }

    /// Pins every worker to a core of its own: worker i to the i-th core that this process may use; cores on distinct
    /// physical cores come first, hyperthread siblings last. It gives steady latencies and repeatable measurements. By
    /// default the system may move workers between cores. A worker that finds itself on another worker's core leaves
    /// it, if there is a core for each (Linux).
    ///
    /// Pinning works on Linux only. [`Report::pinned`](crate::Report::pinned) says which worker got which core, and
    /// [`Report::decisions`](crate::Report::decisions) why a worker has none: more workers than cores, a refused call,
    /// another system. The run then goes on unpinned. Threads of sources, of blocking stages and of a run's own tokio
    /// runtime are not pinned, and two pinned runs take the same cores.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().map(|x| x + 1);
    /// let report = Rings::new()
    ///     .workers(1)
    ///     .pin_workers(true)
    ///     .for_each((&p).from(source::ready(0..9)), |_, _| ())?;
    /// assert_eq!(report.pinned.len(), 1);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn pin_workers(mut self, pin: bool) -> Self {
        self.pin = pin;
        self
    }

    /// Sets the most bytes that the rings of a run may take together, without the heap memory that values own. A run
    /// that would take more is refused before anything is allocated.
    ///
    /// By default the limit is that of this process's control groups (Linux, versions 1 and 2, the tightest from its
    /// own group to the root), or the machine's memory if that is less; on other systems there is no limit. Other
    /// memory of the process, including other runs, is not counted.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().map(|x| x + 1);
    /// let error =
    ///     Rings::new().ring(4096).memory_limit(40_000).collect((&p).from(0..9)).unwrap_err();
    /// assert_eq!(
    ///     error.to_string(),
    ///     "rings of 4096 slots take 65536 bytes together, and the options allow 40000 bytes: \
    ///      rings of at most 2048 slots fit"
    /// );
    /// ```
    #[must_use]
    pub fn memory_limit(mut self, bytes: u64) -> Self {
        self.memory = Some(bytes);
        self
    }

    /// Sets the time that a step of a stage may take; 100 ms by default. While a step runs, the other stages of its
    /// worker wait. [`Report::overruns`](crate::Report::overruns) names the stages with a longer step, and by how much
    /// it exceeded the budget. An overrun has no other effect. Stages with threads of their own (`map_blocking`) have
    /// no budget, nor do stages on the calling thread.
    ///
    /// Once a budget is set, every step is timed. That costs up to a tenth of the speed of cheap stages with small
    /// batches. Otherwise steps are timed in the first rounds, in one round of sixteen, and for some rounds after one
    /// that took over a millisecond; a single long step can be missed.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let p = pipeline::<u64>()
    ///     .map(|_| std::thread::sleep(Duration::from_millis(2)))
    ///     .named("slow");
    /// let rings = Rings::new()
    ///     .step_budget(Duration::from_secs(60))
    ///     .step_budget_of("slow", Duration::from_millis(1));
    /// let report = rings.for_each((&p).from(source::ready(0..2)), |_, _| ())?;
    /// let overrun = report.overruns().next().unwrap();
    /// assert_eq!(overrun.stage, "slow");
    /// assert!(overrun.by >= Duration::from_millis(1));
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn step_budget(mut self, budget: Duration) -> Self {
        self.budgets.every(budget);
        self
    }

    /// As [`step_budget`](Rings::step_budget), for the stage of this name in the plan; `source` and `sink` are the
    /// ends. [`Report::decisions`](crate::Report::decisions) lists a name that no stage has.
    #[must_use]
    pub fn step_budget_of(mut self, stage: &str, budget: Duration) -> Self {
        self.budgets.of_stage(stage, budget);
        self
    }

    /// Observes a run from its first number on, as [`Handle::observe`](crate::Handle::observe) does later, for calls
    /// that return no handle. Off by default.
    #[must_use]
    pub fn observe(mut self, on: bool) -> Self {
        self.observed = on;
        self
    }

    /// Sets which threads run the stages behind a source that may wait. The default is the faster way.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let numbers = (0..1000_u64).map(|x| x * 3);
    /// let rings = Rings::new().stages_on(StagesOn::Source);
    /// let (sum, _) = rings.run(pipeline().map(|x| x + 1).from(numbers).to_fold(0, |sum, _, x| *sum += x))?;
    /// assert_eq!(sum, 1_499_500);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn stages_on(mut self, threads: StagesOn) -> Self {
        self.stages_on = threads;
        self
    }

    pub(crate) fn which_stages_on(&self) -> StagesOn {
        self.stages_on
    }

    pub(crate) fn observed(&self) -> bool {
        self.observed
    }

    pub(crate) fn budgets(&self) -> &Budgets {
        &self.budgets
    }

    /// The memory limit of a run, if there is one.
    pub(crate) fn limit(&self) -> Option<MemoryLimit> {
        self.memory.map(|bytes| MemoryLimit { bytes, by: LimitedBy::Options }).or_else(memory_limit)
    }

    /// Checks that the plan's rings fit into the memory limit.
    fn check_memory(&self, plan: &Plan) -> Result<(), OptionsError> {
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

    /// The cores that workers are pinned to, if pinning is on.
    pub(crate) fn pins(&self, inline: bool) -> Option<Pins> {
        self.pin
            .then(|| if inline { Pins::refused("everything on the calling thread") } else { Pins::on_physical_cores() })
    }

    /// Checks what a run checks before it begins: that these options are possible, and that the rings of `plan`, after
    /// a source, fit into the memory limit. Nothing is allocated. Call it before you open what a refused run would
    /// have changed, such as a file that the run empties.
    ///
    /// ```
    /// use millstream::{exec::Feed, prelude::*};
    /// let p = pipeline::<u64>().map(|x| x + 1);
    /// let feed = Feed::source::<u64, std::ops::Range<u64>>();
    /// assert!(Rings::new().check(&p.plan(), feed).is_ok());
    /// assert!(Rings::new().memory_limit(100).check(&p.plan(), feed).is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// The error with which the run would be refused.
    pub fn check(&self, plan: &Plan, feed: Feed) -> Result<(), OptionsError> {
        self.checked(plan.clone(), feed).map(drop)
    }

    /// The plan with the rings of this deployment, checked as [`check`](Rings::check) does.
    pub(crate) fn checked(&self, plan: Plan, feed: Feed) -> Result<Plan, OptionsError> {
        self.check_options()?;
        let plan = self.planned(plan, feed);
        self.check_memory(&plan)?;
        Ok(plan)
    }

    /// The plan with the rings of this deployment, after a source.
    #[must_use]
    pub fn planned(&self, plan: Plan, feed: Feed) -> Plan {
        let plan = plan.with_capacity(self.slots).with_source_capacity(feed.slots(self.slots));
        feed.in_front(plan, self.slots)
    }

    /// The tunable options of a run with this many rings, without those of a fan-in's producers.
    pub(crate) fn tunables(&self, rings: usize) -> Tunables {
        Tunables {
            ring: self.slots,
            batch: self.most(rings),
            back_off: Backoff::THIS,
            pinned: self.pin,
            step_budget: self.budgets.of_others(),
        }
    }

    /// Whether one worker runs all stages, as set.
    pub(crate) fn has_one_worker(&self) -> bool {
        self.workers == Some(1)
    }

    /// Whether the run chooses how many workers it has.
    pub(crate) fn chooses_workers(&self) -> bool {
        self.workers.is_none()
    }

    /// Whether the most numbers of a step are set.
    pub(crate) fn has_set_batch(&self) -> bool {
        self.batch.is_some()
    }

    pub(crate) fn waiting(&self) -> Wait {
        self.wait
    }

    pub(crate) fn slots(&self) -> usize {
        self.slots
    }

    /// The most numbers that a step moves, in a pipeline with this many rings.
    pub(crate) fn most(&self, rings: usize) -> usize {
        let part = if rings == 1 { self.slots / PART_OF_RING } else { 0 };
        self.batch.unwrap_or(DEFAULT_BATCH.max(part))
    }

    fn check_options(&self) -> Result<(), OptionsError> {
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

    /// The workers that were asked for, on this many cores.
    pub(crate) fn wanted(&self, cores: usize) -> Wanted {
        Wanted { asked: self.workers, cores }
    }

    /// Why a run has this number of workers at most, if this many can share the tasklets.
    pub(crate) fn why_workers(&self, most: usize) -> String {
        match self.workers {
            Some(n) if n > most => format!("fixed: {n} were asked for, and only {most} can share the tasklets"),
            Some(_) => "fixed: as asked for".to_owned(),
            None => "automatic: 1 to begin with; another is kept if it moves at least 10% more".to_owned(),
        }
    }
}
