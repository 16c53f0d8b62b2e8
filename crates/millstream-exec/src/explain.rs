//! The decisions of a run on rings, with reasons, before the run. `tests/all/limits.rs` compares them with runs.

use crate::machine::{Cores, MemoryLimit, usable_cores};
use crate::source::{may_wait, most_slots};
use crate::wait::{Backoff, Wait, refused};
use crate::{Rings, Source};
use millstream_core::{Item, Plan};
use std::fmt;
use std::time::Duration;

/// How a run gets its values: the threads and tasklets that the feed adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Threads other than the workers.
    threads: usize,
    tasklet: bool,
    /// The most slots of the source's ring.
    slots: usize,
    /// Whether it has exactly this number.
    exact: bool,
    /// The rings that feed it.
    fed: Option<FedRings>,
    words: &'static str,
}

/// Rings that producers fill, outside the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FedRings {
    count: usize,
    slot_bytes: usize,
    /// `None`: as many as the other rings of the run have.
    slots: Option<usize>,
}

impl Feed {
    /// The calling thread runs everything.
    pub(crate) fn by_caller(slots: usize) -> Self {
        Feed { threads: 0, tasklet: true, slots, exact: false, fed: None, words: "the calling thread runs it" }
    }

    /// From this source, which is not read. Unlike [`source`](Feed::source) it asks the source itself whether it
    /// waits, and the type of the source need not be written.
    ///
    /// ```
    /// use millstream::exec::Feed;
    /// let range = Feed::source::<u64, std::ops::Range<u64>>();
    /// assert_eq!(Feed::of(&(0..100_u64)), range);
    /// // The function of an adapter may wait.
    /// assert_ne!(Feed::of(&(0..100_u64).filter(|x| x % 2 == 1)), range);
    /// ```
    #[must_use]
    pub fn of<T: Item, X: Source<T>>(source: &X) -> Self {
        let values = || Feed::source_that::<T>(source.waits(), X::THREADS, most_slots::<T, X>());
        source.external_feed().unwrap_or_else(values)
    }

    /// From a source of this type: see [`of`](Feed::of) for one whose type has no name.
    #[must_use]
    pub fn source<T: Item, X: Source<T>>() -> Self {
        Feed::source_that::<T>(may_wait::<T, X>(), X::THREADS, most_slots::<T, X>())
    }

    fn source_that<T>(waits: bool, threads: usize, slots: usize) -> Self {
        let words = match (waits, Feed::sweeps::<T>()) {
            (true, false) if threads > 1 => "may wait and looks at a clock, so it has more than one thread",
            (true, true) if threads > 1 => {
                "may wait and looks at a clock, so it has more than one thread; a tasklet drops released values"
            }
            (false, _) => {
                let words = "never waits, so a worker runs it";
                return Feed { threads: 0, tasklet: true, slots, exact: false, fed: None, words };
            }
            (true, false) => "may wait, so it has a thread",
            (true, true) => "may wait, so it has a thread; a tasklet drops released values",
        };
        Feed { threads, tasklet: Feed::sweeps::<T>(), slots, exact: false, fed: None, words }
    }

    /// From a [`channel`](crate::source::channel) of such values, with this number of slots.
    #[must_use]
    pub fn channel<T: Item>(slots: usize) -> Self {
        let words = "a sender on a thread of the program";
        let slots = slots.next_power_of_two();
        Feed { threads: 1, tasklet: Feed::sweeps::<T>(), slots, exact: true, fed: None, words }
    }

    /// From `producers` producers over `count` rings with slots of `slot_bytes` bytes.
    pub(crate) fn fan_in(producers: usize, count: usize, slot_bytes: usize, slots: Option<usize>) -> Self {
        let words = match count {
            1 if producers > 1 => "many senders on threads of the program, with one ring that a worker reads",
            _ => "many senders on threads of the program, with a ring each; a worker merges them",
        };
        let fed = Some(FedRings { count, slot_bytes, slots });
        Feed { threads: producers, tasklet: true, slots: usize::MAX, exact: false, fed, words }
    }

    /// Whether a tasklet drops released values while no new ones are sent.
    pub(crate) fn sweeps<T>() -> bool {
        std::mem::needs_drop::<T>()
    }

    /// The source ring's capacity when other rings have `slots` slots.
    pub(crate) fn slots(self, slots: usize) -> usize {
        if self.exact { self.slots } else { self.slots.min(slots) }
    }

    /// The same, with at most this number of slots, unless it has an exact number.
    pub(crate) fn at_most(self, slots: usize) -> Self {
        Feed { slots: self.slots(slots), ..self }
    }

    /// The number of threads, other than workers, that values come from.
    pub(crate) fn threads(self) -> usize {
        self.threads
    }

    /// The plan with the rings before its own.
    pub(crate) fn in_front(self, plan: Plan, slots: usize) -> Plan {
        match self.fed {
            Some(FedRings { count, slot_bytes, slots: own }) => {
                plan.with_fed_rings(count, slot_bytes, own.unwrap_or(slots))
            }
            None => plan,
        }
    }
}

/// The decisions of a run: the result of [`Rings::explain`]. Its text is the output of `millstream plan --explain`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation {
    /// The cores that a run may use.
    pub cores: Cores,
    /// The number of workers.
    pub workers: Workers,
    /// Where the tasklets run.
    pub tasklets: Tasklets,
    /// Where values come from, in words.
    pub source: &'static str,
    /// The memory of the rings.
    pub rings: RingsMemory,
    /// How threads wait for work.
    pub wait: Waiting,
    /// The stages whose tasklets have a thread each, then the sinks that have one: those of dead letters and those with
    /// names.
    pub blocking: Vec<Blocking>,
    /// The tunable options, with their values.
    pub tunables: Tunables,
}

/// The number of workers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Workers {
    /// The maximum.
    pub most: usize,
    /// Why.
    pub why: String,
}

/// Where the tasklets run, source and sink included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Tasklets {
    /// How many share the workers.
    pub shared: usize,
    /// How many have a thread each.
    pub own_thread: usize,
}

/// The memory of the rings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RingsMemory {
    /// The number of rings.
    pub count: usize,
    /// Bytes of all rings, without the heap memory that values own.
    pub bytes: usize,
    /// The limit: a run whose rings take more is refused.
    pub limit: Option<MemoryLimit>,
}

/// The names of the sinks beside the pipeline. Each has a thread of its own.
fn side_sinks(plan: &Plan) -> impl Iterator<Item = String> {
    let letters = plan
        .stages
        .iter()
        .filter(|stage| ["_or_dead_letter", "_or_park"].iter().any(|kind| stage.kind.ends_with(kind)));
    let letters = letters.map(|stage| format!("{}.dead-letters", stage.name));
    letters.chain(plan.side_sinks.iter().map(|sink| sink.name.clone()))
}

/// How many of the tasklets that workers share are in a loop behind its first: one worker runs all of a loop.
fn in_loops(plan: &Plan) -> usize {
    let (mut behind, mut stages) = (0, plan.stages.iter().rev().peekable());
    while let Some(last) = stages.next() {
        if !last.serial {
            continue;
        }
        // It writes the states of the loop, whose ring was made before those of the other stages in the loop.
        let mut shared = last.tasklets;
        while let Some(stage) = stages.next_if(|stage| stage.serial && stage.writes > last.writes) {
            shared += if stage.blocking { 0 } else { stage.tasklets };
        }
        behind += shared.saturating_sub(1);
    }
    behind
}

/// How threads wait for work.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Waiting {
    /// The strategy that a run begins with.
    pub strategy: Wait,
    /// Why it is this one, and whether it spins.
    pub why: String,
}

/// A stage whose tasklets have a thread each, or such a sink.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Blocking {
    /// Its name.
    pub stage: String,
    /// The number of its threads.
    pub threads: usize,
}

/// The tunable options, with their values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Tunables {
    /// Slots of every ring: [`Rings::ring`].
    pub ring: usize,
    /// The most numbers that one step moves: [`Rings::batch`].
    pub batch: usize,
    /// The stages of waiting before a thread parks: [`Rings::wait`] chooses which of them apply.
    pub back_off: Backoff,
    /// Whether workers are pinned: [`Rings::pin_workers`].
    pub pinned: bool,
    /// How long a step may take: [`Rings::step_budget`].
    pub step_budget: Duration,
}

impl Rings {
    /// The decisions that a run of this plan would make on this machine, and why: the number of workers and other
    /// threads, the cores, how threads wait, the memory of the rings. Nothing is allocated for the run, and no thread
    /// is started.
    ///
    /// ```
    /// use millstream::{exec::Feed, prelude::*};
    /// let p = pipeline::<u64>().shard(3, |p| p.map_blocking(|x| x + 1)).map(|x| x * 2);
    /// let explanation =
    ///     Rings::new().explain(&p.plan(), Feed::source::<u64, std::ops::Range<u64>>());
    /// // The source, the second map and the sink: a range never waits, so it needs no thread.
    /// assert_eq!((explanation.tasklets.shared, explanation.tasklets.own_thread), (3, 3));
    /// assert_eq!(explanation.source, "never waits, so a worker runs it");
    /// ```
    #[must_use]
    pub fn explain(&self, plan: &Plan, feed: Feed) -> Explanation {
        let tunables = self.tunables(plan.rings.len());
        let plan = self.planned(plan.clone(), feed);
        let cores = usable_cores();
        let side_sinks: Vec<_> = side_sinks(&plan).map(|stage| Blocking { stage, threads: 1 }).collect();
        let (shared, blocking) = plan.tasklets();
        let own_thread = blocking + side_sinks.len();
        // The sink is a tasklet as well.
        let tasklets = Tasklets { shared: shared + usize::from(feed.tasklet) + 1, own_thread };
        let (wanted, entries) = (self.wanted(cores.usable), tasklets.shared.saturating_sub(in_loops(&plan)));
        let (first, most) = (wanted.first(entries), wanted.most(entries));
        let why = self.why_workers(entries);
        let others = own_thread + feed.threads;
        let wait = self.explain_wait(first + others, most + others, cores.usable);
        let blocking = plan.stages.iter().filter(|stage| stage.blocking);
        let blocking = blocking.map(|s| Blocking { stage: s.name.clone(), threads: s.tasklets });
        let bytes = plan.bytes().unwrap_or(0);
        Explanation {
            cores,
            workers: Workers { most, why },
            tasklets,
            source: feed.words,
            rings: RingsMemory { count: plan.rings.len(), bytes, limit: self.limit() },
            wait,
            blocking: blocking.chain(side_sinks).collect(),
            tunables,
        }
    }

    /// The strategy that a run with `first` threads, later up to `most`, would use, and why.
    fn explain_wait(&self, first: usize, most: usize, cores: usize) -> Waiting {
        let wait = self.waiting();
        let threads = if first == most { most.to_string() } else { format!("{first} to {most}") };
        let spins = !matches!(wait, Wait::Blocking);
        let (strategy, why) = match (first > cores, most > cores) {
            (true, _) if wait == Wait::BusySpin => (Wait::Phased, refused(first, cores)),
            (true, _) if spins => (wait, format!("without spinning: {threads} threads on {cores} usable cores")),
            (false, true) if spins => (
                wait,
                format!(
                    "without spinning while there are more than {cores}: {threads} threads on {cores} usable cores"
                ),
            ),
            _ => (wait, format!("{threads} threads on {cores} usable cores")),
        };
        Waiting { strategy, why }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Explanation { cores, workers, tasklets, rings, wait, tunables, .. } = self;
        let Backoff { spins, yields, nap_us, longest_nap_us } = tunables.back_off;
        let limit = rings.limit.map_or("no limit is known".to_owned(), |limit| limit.to_string());
        let pinned = if tunables.pinned { ", pinned to physical cores" } else { "" };
        writeln!(f, "usable cores:   {} ({})", cores.usable, cores.why)?;
        writeln!(f, "workers:        at most {}{pinned} ({})", workers.most, workers.why)?;
        let Tasklets { shared, own_thread } = tasklets;
        writeln!(f, "tasklets:       {shared} shared by the workers, {own_thread} with a thread of their own")?;
        writeln!(f, "source:         {}", self.source)?;
        writeln!(f, "rings:          {}, {} bytes together ({limit})", rings.count, rings.bytes)?;
        writeln!(f, "waiting:        {} ({})", wait.strategy, wait.why)?;
        writeln!(
            f,
            "tunables:       rings of {} slots, steps of at most {}; back-off of {spins} spins, {yields} yields, \
             naps of {nap_us} to {longest_nap_us} us; step budget {:?}",
            tunables.ring, tunables.batch, tunables.step_budget
        )?;
        if self.blocking.is_empty() {
            return writeln!(f, "stages that block: none");
        }
        let stage =
            |blocking: &Blocking| format!("stage that blocks: {} (own threads: {})", blocking.stage, blocking.threads);
        self.blocking.iter().try_for_each(|blocking| writeln!(f, "{}", stage(blocking)))
    }
}
