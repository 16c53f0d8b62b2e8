use crate::advice::TooMany;
use crate::observer::share;
use crate::watched::BATCHES;
use crate::{Bottleneck, Cores, Loads, ProducerPanics, RingCounters};
use millstream_core::SequenceNumber;
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub outcome: RunOutcome,
    /// How many numbers the sink has seen; after the end of the stream, END's number: the length of its clock.
    pub numbers: SequenceNumber,
    /// How many values the sink got.
    pub values: u64,
    /// How many workers ran it in the end; 0 if the calling thread did it all.
    pub workers: usize,
    /// The cores that it could use, and why so many.
    pub cores: Cores,
    /// The core that each worker was pinned to, if it was; empty unless
    /// [`pin_workers`](crate::Rings::pin_workers) asked for it.
    pub pinned: Vec<Option<usize>>,
    /// How many tasklets there were, source and sink among them unless the source has a thread of its own.
    pub tasklets: usize,
    /// Bytes of all rings, without what values own on the heap.
    pub ring_bytes: usize,
    /// From the first step to the last.
    pub elapsed: Duration,
    /// What every tasklet did, in pipeline order, the source first, also where it is none.
    pub stages: Vec<StageReport>,
    /// How fast it was with each number of workers, when that was measured last.
    pub rates: Vec<Rate>,
    /// How many workers there were and why, in the order in which it was decided.
    pub decisions: Vec<String>,
    /// What every ring of the plan has counted; on queues there are none.
    pub rings: Vec<RingCounters>,
    /// What every stage had to do; on queues nobody knows.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub loads: Loads,
    /// The producers of a [fan-in](crate::fan_in) that ended because their threads panicked, where that
    /// [ends nobody else](crate::FanIn::isolate_panics).
    pub producer_panics: ProducerPanics,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum RunOutcome {
    /// The source ended.
    End,
    /// It was drained: the source was ended, and everything accepted was finished.
    Drained,
    /// It was stopped: something may be left.
    Stopped,
    /// It failed.
    Failed,
}

/// How fast some work was with so many workers, or so many consumers that share it: what placement compares, and
/// [`TooMany`] judges.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Rate {
    /// How many workers there were.
    pub workers: usize,
    /// Numbers that all stages together moved in a second.
    pub numbers_per_second: f64,
}

impl Rate {
    /// What somebody has measured.
    #[must_use]
    pub fn new(workers: usize, numbers_per_second: f64) -> Self {
        Rate { workers, numbers_per_second }
    }
}

/// What one tasklet did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StageReport {
    /// Its stage's name in the plan; `source` and `sink` are the ends.
    pub name: String,
    /// Numbers it moved: as many came in as went out, since a stage fills its number's slot or leaves it empty. Of a
    /// source, those that were accepted; of a sink, those that it saw. END counts, apart from a shard's.
    pub moved: u64,
    /// The steps in which it moved them.
    pub steps: u64,
    /// Numbers of its input that it has not worked on.
    pub left: u64,
    /// What a number cost on average, in nanoseconds, by the steps that were timed.
    pub ns_per_number: Option<f64>,
    /// How long the longest of the steps that were timed took: all of them where a
    /// [budget](crate::Rings::step_budget) was set; else those of the first rounds, of one round in sixteen, and of those
    /// behind a round that took over a millisecond.
    pub longest_step: Duration,
    /// How long a step might take; none if it had a thread of its own, or the calling thread did it all.
    pub budget: Option<Duration>,
    /// How many of the steps that were timed took longer.
    pub overruns: u64,
    /// Whether it had a thread of its own.
    pub blocking: bool,
    /// How many keys it kept states for in the end, if it is the stage in front of a
    /// [`shard_by`](millstream_core::KeysExt::shard_by)'s body.
    pub keys: Option<u64>,
    /// How many calls of its function gave an error; of the whole stage. Queues count none. See
    /// [`TaskletCounters`](crate::TaskletCounters).
    pub failures: u64,
    /// How many of them were tried again.
    pub retries: u64,
    /// How many values were put aside because one of their key had failed.
    pub parked: u64,
    /// How many slots of its output were looked at. See [`TaskletCounters`](crate::TaskletCounters::looked_at).
    pub looked_at: u64,
    /// How many of those were empty; of the whole stage.
    pub empties: u64,
    /// How many steps moved 1, 2 to 3, 4 to 7, ... numbers, while the run was [observed](crate::Handle::observe).
    pub batches: [u64; BATCHES],
}

impl StageReport {
    /// How many numbers it moved at once, on average; 0 if it moved none. The most is what
    /// [`batch`](crate::Rings::batch) says, and END, which a source moves with its last values.
    #[must_use]
    pub fn mean_batch(&self) -> f64 {
        if self.steps == 0 { 0.0 } else { self.moved as f64 / self.steps as f64 }
    }

    /// The share of its slots that it left empty, from 0 to 1, by those that were looked at; none where nobody has looked.
    /// See [`TaskletCounters::empty_share`](crate::TaskletCounters::empty_share).
    #[must_use]
    pub fn empty_share(&self) -> Option<f64> {
        share(self.empties, self.looked_at)
    }

    /// Puts what came from outside in front: if a tasklet drops the values of the source, it moves none itself.
    pub(crate) fn put_source(stages: &mut Vec<StageReport>, accepted: u64) {
        let source = StageReport {
            name: "source".to_owned(),
            moved: accepted,
            steps: accepted,
            left: 0,
            ns_per_number: None,
            longest_step: Duration::ZERO,
            budget: None,
            overruns: 0,
            blocking: true,
            keys: None,
            failures: 0,
            retries: 0,
            parked: 0,
            looked_at: accepted,
            empties: 0,
            batches: [0; BATCHES],
        };
        match stages.first_mut() {
            Some(sweeper) if sweeper.name == "source" => *sweeper = source,
            _ => stages.insert(0, source),
        }
    }
}

/// A stage that took longer than its [budget](crate::Rings::step_budget).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Overrun<'a> {
    /// Its name.
    pub stage: &'a str,
    /// How many steps took longer.
    pub steps: u64,
    /// By how much the longest did.
    pub by: Duration,
}

impl Report {
    /// Which stage held the run back, why, and what would help. None if nothing was done, and on queues.
    ///
    /// It takes the whole run, with its start and its end; how busy a source with a thread of its own was is guessed. Who
    /// looks while the run goes on knows better: `millstream-observe`.
    ///
    /// ```
    /// use millstream_core::{Arrow, pipeline};
    /// use millstream_exec::{Rings, Run, source};
    /// use std::{thread::sleep, time::Duration};
    /// let p = pipeline::<u64>().map(|x| x + 1).map_blocking(|x| { sleep(Duration::from_millis(2)); *x }).named("slow");
    /// let report = p.run(&Rings::new(), source::ready(0..50), |_, _| ())?;
    /// let bottleneck = report.bottleneck().unwrap();
    /// assert_eq!(bottleneck.stage, "slow");
    /// assert!(bottleneck.sentence.starts_with("`slow` holds the run back: 2."), "{}", bottleneck.sentence);
    /// # Ok::<(), millstream_exec::RunError>(())
    /// ```
    #[must_use]
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        self.loads.bottleneck()
    }

    /// Whether more workers moved less, by the rates that were measured while it ran. None where they moved more, and where
    /// only one number of workers was tried.
    #[must_use]
    pub fn too_many_workers(&self) -> Option<TooMany> {
        TooMany::of(&self.rates)
    }

    /// The tasklets that took longer for a step than their stage's [budget](crate::Rings::step_budget), in pipeline order.
    pub fn overruns(&self) -> impl Iterator<Item = Overrun<'_>> {
        self.stages.iter().filter(|stage| stage.overruns > 0).filter_map(|stage| {
            let by = stage.longest_step.checked_sub(stage.budget?)?;
            Some(Overrun { stage: &stage.name, steps: stage.overruns, by })
        })
    }
}
