use crate::Rate;
use crate::advice::TooMany;
use crate::external_source::Accepted;
use crate::share::share;
use crate::watched::BATCHES;
use crate::{Bottleneck, ChangeReport, Cores, Loads, ProducerPanics, RefusedChange, RingCounters};
use millstream_core::{RunOutcome, SequenceNumber};
use std::fmt;
use std::time::Duration;

/// The results of a run.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub outcome: RunOutcome,
    /// How many numbers the sink has seen, those before the snapshot with which the run began among them. After the end
    /// of the stream this is END's number, the length of its clock.
    pub numbers: SequenceNumber,
    /// The number with which the sink began.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) first: SequenceNumber,
    /// How many values the sink received.
    pub values: u64,
    /// The number of workers at the end; 0 if the calling thread ran everything.
    pub workers: usize,
    /// The cores that it could use, and why that many.
    pub cores: Cores,
    /// The core of each worker, if it was pinned; empty unless [`pin_workers`](crate::Rings::pin_workers) asked for it.
    pub pinned: Vec<Option<usize>>,
    /// The number of tasklets. Source and sink count, unless the source has a thread of its own.
    pub tasklets: usize,
    /// Bytes of all rings, without the heap memory that values own.
    pub ring_bytes: usize,
    /// The time from the first step to the last.
    pub elapsed: Duration,
    /// The reports of all stages, in pipeline order, beginning with the source even if that is no tasklet.
    pub stages: Vec<StageReport>,
    /// The last measured rate of each number of workers, by the last version of the pipeline.
    pub rates: Vec<Rate>,
    /// The decisions on the number of workers, with reasons, in the order in which they were made: the first one, and
    /// the last 63 after it.
    pub decisions: Vec<String>,
    /// The counters of every ring of the plan; none on queues.
    pub rings: Vec<RingCounters>,
    /// The load of every stage of the last version of the pipeline, from when it began; empty on queues.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub loads: Loads,
    /// The producers of a [fan-in](crate::fan_in) that ended by a panic of their threads, if
    /// [`isolate_panics`](crate::FanIn::isolate_panics) is set.
    pub producer_panics: ProducerPanics,
    /// The last 64 changes of the pipeline, in their order; none on queues.
    pub changes: Vec<ChangeReport>,
    /// The last 64 changes that were refused, in their order; none on queues.
    pub refused_changes: Vec<RefusedChange>,
}

/// The counters of one tasklet.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StageReport {
    /// Its stage's name in the plan; `source` and `sink` are the ends.
    pub name: String,
    /// Numbers it moved. Input and output are equal, since a stage fills its number's slot or leaves it empty. For a
    /// source, the numbers accepted; for a sink, the numbers seen. END counts, except in a shard.
    pub moved: u64,
    /// The steps that moved them.
    pub steps: u64,
    /// Numbers of its input that it has not processed.
    pub left: u64,
    /// The mean cost of a number in nanoseconds, measured over the timed steps. None if most of its numbers passed in
    /// the loop of another stage, whose cost includes it.
    pub ns_per_number: Option<f64>,
    /// The longest of its timed steps. With a [budget](crate::Rings::step_budget) every step is timed; otherwise those
    /// of the first rounds, of one round in sixteen, and of the rounds after one that took over a millisecond.
    pub longest_step: Duration,
    /// The budget of a step; none if it had a thread of its own, or if the calling thread ran everything.
    pub budget: Option<Duration>,
    /// How many timed steps took longer than the budget.
    pub overruns: u64,
    /// Whether it had a thread of its own.
    pub blocking: bool,
    /// The stage in whose loop it ran, if it was [fused](crate::Rings::workers) with that stage. The time and the steps
    /// of the loop count for that one.
    pub fused_into: Option<String>,
    /// How many keys it held states for at the end, if it is the stage before the body of a
    /// [`shard_by`](millstream_core::KeysExt::shard_by).
    pub keys: Option<u64>,
    /// The bytes of the states of its keys at the end. See [`TaskletCounters`](crate::TaskletCounters::state_bytes).
    pub state_bytes: Option<u64>,
    /// How many calls of its function failed, by an error or a panic, over the whole stage. Queues count none. See
    /// [`TaskletCounters`](crate::TaskletCounters).
    pub failures: u64,
    /// How many calls were retries.
    pub retries: u64,
    /// How many values were parked because an earlier value of their key had failed.
    pub parked: u64,
    /// How many slots of its output were examined. See [`TaskletCounters`](crate::TaskletCounters::looked_at).
    pub looked_at: u64,
    /// How many of those were empty, over the whole stage.
    pub empties: u64,
    /// How many steps moved 1, 2 to 3, 4 to 7, ... numbers, while the run was [observed](crate::Handle::observe).
    pub batches: [u64; BATCHES],
    /// Whether it is the source or the sink: a stage can have the name of one.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) is_end: bool,
}

impl StageReport {
    /// The mean of the numbers a step moved; 0 if it moved none. The maximum is [`batch`](crate::Rings::batch), plus
    /// one for END, which a source moves with its last values.
    #[must_use]
    pub fn mean_batch(&self) -> f64 {
        if self.steps == 0 { 0.0 } else { self.moved as f64 / self.steps as f64 }
    }

    /// The share of its slots that it left empty, from 0 to 1, measured over the examined slots; none if none was
    /// examined. See [`TaskletCounters::empty_share`](crate::TaskletCounters::empty_share).
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        share(self.empties, self.looked_at)
    }

    /// Adds what the same stage did in an earlier version of the pipeline.
    pub(crate) fn add(&mut self, before: &StageReport) {
        let timed = |stage: &StageReport| stage.ns_per_number.map(|ns| (ns, stage.moved.max(1) as f64));
        self.ns_per_number = match (timed(self), timed(before)) {
            (Some((ns, moved)), Some((ns_before, before))) => {
                Some((ns * moved + ns_before * before) / (moved + before))
            }
            (timed, timed_before) => timed.or(timed_before).map(|(ns, _)| ns),
        };
        self.moved += before.moved;
        self.steps += before.steps;
        self.longest_step = self.longest_step.max(before.longest_step);
        self.overruns += before.overruns;
        self.failures += before.failures;
        self.retries += before.retries;
        self.parked += before.parked;
        self.looked_at += before.looked_at;
        self.empties += before.empties;
        self.batches.iter_mut().zip(before.batches).for_each(|(steps, before)| *steps += before);
    }

    /// Puts the report of a source outside the tasklets before those of the stages.
    pub(crate) fn put_source(stages: &mut Vec<StageReport>, Accepted { published, waiting }: Accepted) {
        let source = StageReport {
            name: "source".to_owned(),
            moved: published,
            steps: published,
            left: waiting,
            ns_per_number: None,
            longest_step: Duration::ZERO,
            budget: None,
            overruns: 0,
            blocking: true,
            fused_into: None,
            keys: None,
            state_bytes: None,
            failures: 0,
            retries: 0,
            parked: 0,
            looked_at: published,
            empties: 0,
            batches: [0; BATCHES],
            is_end: true,
        };
        stages.insert(0, source);
    }
}

/// A stage whose longest step exceeded its [budget](crate::Rings::step_budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Overrun<'a> {
    /// Its name.
    pub stage: &'a str,
    /// How many steps took longer.
    pub steps: u64,
    /// The time by which the longest step exceeded the budget.
    pub by: Duration,
}

/// A few lines for a person: how it ended, how much, how fast, and what held it back.
///
/// ```
/// use millstream::prelude::*;
/// let p = pipeline::<u64>().filter(|x| x % 2 == 0);
/// let report = p.from(source::ready(0..1000)).for_each(|_, _| ())?;
/// assert!(
///     report.to_string().starts_with("came to its end: 1000 numbers, 500 values in "),
///     "{report}"
/// );
/// # Ok::<(), RunError>(())
/// ```
impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let outcome = match self.outcome {
            RunOutcome::End => "came to its end",
            RunOutcome::Drained => "was drained",
            RunOutcome::Stopped => "was stopped",
            RunOutcome::Failed => "failed",
        };
        let (numbers, seconds) = (self.numbers_of_run(), self.elapsed.as_secs_f64());
        write!(f, "{outcome}: {numbers} numbers, {} values in {seconds:.3} s", self.values)?;
        if seconds > 0.0 && numbers > 0 {
            write!(f, ", {:.0} numbers a second", numbers as f64 / seconds)?;
        }
        match self.workers {
            0 => writeln!(f)?,
            1 => writeln!(f, ", 1 worker")?,
            workers => writeln!(f, ", {workers} workers")?,
        }
        for stage in self.stages.iter().filter(|stage| stage.left > 0) {
            writeln!(f, "`{}` left {} numbers unprocessed", stage.name, stage.left)?;
        }
        match self.bottleneck() {
            Some(bottleneck) => writeln!(f, "{}", bottleneck.sentence),
            None => Ok(()),
        }
    }
}

impl Report {
    /// How many numbers the sink has seen in this run.
    pub(crate) fn numbers_of_run(&self) -> u64 {
        self.numbers.0.saturating_sub(self.first.0)
    }

    /// Of a run that the calling thread does, before it has done anything.
    pub(crate) fn of_caller() -> Self {
        Report {
            outcome: RunOutcome::End,
            first: SequenceNumber(0),
            numbers: SequenceNumber(0),
            values: 0,
            workers: 0,
            cores: Cores::of_caller(),
            pinned: Vec::new(),
            tasklets: 0,
            ring_bytes: 0,
            elapsed: Duration::ZERO,
            stages: Vec::new(),
            rates: Vec::new(),
            decisions: Vec::new(),
            rings: Vec::new(),
            loads: Loads::default(),
            producer_panics: ProducerPanics::default(),
            changes: Vec::new(),
            refused_changes: Vec::new(),
        }
    }

    /// Which stage held the run back, why, and what would help. None if nothing was done, and on queues.
    ///
    /// It covers the whole run, including its start and its end, or the time of the last version if the pipeline was
    /// replaced. It estimates how busy a source with a thread of its own was. Measuring during the run, as
    /// `millstream-observe` does, is more precise.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::{thread::sleep, time::Duration};
    /// let nap = |x: &u64| { sleep(Duration::from_millis(2)); *x };
    /// let p = pipeline::<u64>().map(|x| x + 1).map_blocking(nap).named("slow");
    /// let report = p.from(source::ready(0..50)).for_each(|_, _| ())?;
    /// let bottleneck = report.bottleneck().unwrap();
    /// assert_eq!(bottleneck.stage, "slow");
    /// assert!(
    ///     bottleneck.sentence.starts_with("`slow` holds the run back: 2."),
    ///     "{}",
    ///     bottleneck.sentence
    /// );
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        self.loads.bottleneck()
    }

    /// Whether more workers moved less, according to the rates measured during the run. None if more workers moved
    /// more, or if only one number of workers was tried.
    #[must_use]
    pub fn too_many_workers(&self) -> Option<TooMany> {
        TooMany::of(&self.rates)
    }

    /// The tasklets with a step longer than their stage's [budget](crate::Rings::step_budget), in pipeline order.
    pub fn overruns(&self) -> impl Iterator<Item = Overrun<'_>> {
        self.stages.iter().filter(|stage| stage.overruns > 0).filter_map(|stage| {
            let by = stage.longest_step.checked_sub(stage.budget?)?;
            Some(Overrun { stage: &stage.name, steps: stage.overruns, by })
        })
    }
}
