//! A run, read from outside, from counters that its stages write anyway.
//!
//! The cursors say how many numbers each ring has and each reader has released. From them follows what a tasklet could
//! do at that moment: it has input and room, or lacks one of them. No stage writes anything for it. A probe shares a
//! ring's counters and not its slots, so it keeps no value alive. The rest, latencies and sizes of batches, is noted
//! per step while a run is observed; while it is not, a step reads one flag.

mod counters;
mod loads;
mod watching;

pub use crate::activity::Activity;
pub use crate::latency_markers::Passed;
pub use crate::task_probe::State;
pub use counters::{Counters, RingCounters, TaskletCounters};

use crate::ChangeReport;
use crate::bottleneck::{Loads, ThreadTimes};
use crate::pool::Pool;
use crate::pool::roster::Roster;
use crate::watched::Role;
use crate::wiring::Home;
use counters::VersionId;
use millstream_core::Plan;
use millstream_ring::RingProbe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use watching::{Watching, tasklet, watching};

/// Reads the counters of a run on rings, from any thread, during the run and after it.
///
/// Cursors and step counts are kept anyway: reading them costs the run nothing. Latencies, batch sizes and empty slots
/// are recorded only while the run is [observed](Observer::observe), once a step rather than once an item; empty slots
/// are counted in some of the batches, after they are written.
///
/// To read often, keep one [`Counters`] and have it refilled: that allocates nothing. Reading takes some nanoseconds a
/// counter, so some hundred microseconds for thousands of stages.
///
/// ```
/// use millstream::{exec::Counters, prelude::*};
/// let p = pipeline::<u64>().map(|x| x + 1).named("more");
/// let run = Rings::new().start((&p).from(source::ready(0..1000)).to_each(|_, _| ()))?;
/// let (observer, mut counters) = (run.observer(), Counters::default());
/// run.wait()?;
/// observer.read(&mut counters);
/// assert!(!counters.running);
/// // END counts.
/// assert_eq!(
///     (counters.rings[0].produced, &counters.rings[0].consumed[..]),
///     (1001, &[1001][..])
/// );
/// assert_eq!(
///     observer.tasklets().map(|tasklet| tasklet.name).collect::<Vec<_>>(),
///     ["source", "more", "sink"]
/// );
/// assert_eq!(counters.tasklets[1].moved, 1001);
/// # Ok::<(), RunError>(())
/// ```
#[derive(Clone)]
pub struct Observer(Arc<Observed>, Newest);

/// The newest version of a run. A version does not know it: an observer of an old one keeps no version between alive.
type Newest = Arc<Mutex<Arc<Observed>>>;

/// A version of a run.
struct Observed {
    id: VersionId,
    pool: Arc<Pool>,
    roster: Arc<Roster>,
    plan: Arc<Plan>,
    /// For each ring of the plan its counters and its readers. Built on first use.
    rings: OnceLock<Box<[Watching]>>,
    source: RingProbe,
    cores: usize,
    since: Instant,
    version: u32,
    /// How this version began, if it is not the first.
    change: Option<ChangeReport>,
    /// The counters when this version began: those of its tasklets count from there, and those of the source go on.
    /// None if all were 0.
    began: OnceLock<Counters>,
}

impl Observed {
    fn new(
        pool: Arc<Pool>,
        plan: Arc<Plan>,
        source: RingProbe,
        (cores, since): (usize, Instant),
        change: Option<ChangeReport>,
    ) -> Self {
        let (roster, rings, began) = (pool.roster(), OnceLock::new(), OnceLock::new());
        let (id, version) = (VersionId::next(), change.as_ref().map_or(1, |change| change.version));
        Observed { id, pool, roster, plan, rings, source, cores, since, version, change, began }
    }
}

/// An end of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PipelineEnd {
    /// Where values come from.
    Source,
    /// Where they go.
    Sink,
}

/// A tasklet's place in the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TaskletInfo<'a> {
    /// Its stage's name in the plan; `source` and `sink` are the ends.
    pub name: &'a str,
    /// Its stage in the plan; none for the source, a sink, or a side output.
    pub stage: Option<usize>,
    /// Whether it is the sink of dead letters, or a [named sink](millstream_core::PartsExt::tee_to). The tasklets of a
    /// version beside the run's count among these.
    pub side_output: bool,
    /// The end of the pipeline that it is, if it is one. A tasklet that only drops the values of a source with a thread
    /// of its own is not an end.
    pub end: Option<PipelineEnd>,
    /// Whether it has a thread of its own.
    pub own_thread: bool,
    /// The stage in whose loop it is, if it is fused with that one. The time and the steps of the loop count for that
    /// one.
    pub fused_into: Option<&'a str>,
}

impl Observer {
    pub(crate) fn first(pool: Arc<Pool>, plan: Arc<Plan>, source: RingProbe, machine: (usize, Instant)) -> Self {
        let first = Arc::new(Observed::new(pool, plan, source, machine, None));
        let first = Observer(first.clone(), Arc::new(Mutex::new(first)));
        // A run that goes on from a snapshot does not begin at 0.
        if first.0.source.published() > 0 {
            first.begin();
        }
        first
    }

    /// Notes the counters with which its version begins.
    fn begin(&self) {
        let mut began = Counters::default();
        self.read(&mut began);
        self.0.began.get_or_init(|| began);
    }

    /// Of the version that has taken the place of the newest one.
    pub(crate) fn next(&self, plan: Arc<Plan>, change: ChangeReport) -> Self {
        let Observed { pool, source, cores, since, .. } = &*self.0;
        let next = Observed::new(pool.clone(), plan, source.clone(), (*cores, *since), Some(change));
        let next = Observer(Arc::new(next), self.1.clone());
        next.begin();
        *next.newest() = next.0.clone();
        next
    }

    fn newest(&self) -> MutexGuard<'_, Arc<Observed>> {
        self.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the pipeline that it sees: 1, or one more for each [upgrade](crate::Handle::upgrade) before.
    #[must_use]
    pub fn version(&self) -> u32 {
        self.0.version
    }

    /// An observer of the newest version, if that is not the one that this observer sees: then the counters of this
    /// observer stay the same. Also after the end of the run.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(pipeline::<u64>().map(|x| *x).from(receiver).to(sink::collect()))?;
    /// let observer = run.observer();
    /// assert!(observer.successor().is_none());
    /// run.upgrade(pipeline::<u64>().map(|x| x + 1).map(|x| x * 2)).unwrap();
    /// let next = observer.successor().unwrap();
    /// assert_eq!((next.version(), next.plan().stages.len()), (2, 2));
    /// drop(sender);
    /// run.wait()?;
    /// assert_eq!(observer.successor().unwrap().change().unwrap().version, 2);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn successor(&self) -> Option<Observer> {
        let newest = self.newest().clone();
        (!Arc::ptr_eq(&self.0, &newest)).then(|| Observer(newest, self.1.clone()))
    }

    /// The change by which the version that it sees began; `None` of the first one.
    #[must_use]
    pub fn change(&self) -> Option<&ChangeReport> {
        self.0.change.as_ref()
    }

    /// The last change of the run's pipeline; `None` if there was none.
    #[must_use]
    pub fn last_change(&self) -> Option<ChangeReport> {
        self.newest().change.clone()
    }

    fn rings(&self) -> &[Watching] {
        self.0.rings.get_or_init(|| watching(&self.0.roster, &self.0.plan, &self.0.source))
    }

    /// Switches observation on or off. Switching it on for the first time allocates some kilobytes a stage.
    pub fn observe(&self, on: bool) {
        self.0.pool.observe(on);
    }

    /// The plan of the run, with its rings' capacities.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.0.plan
    }

    pub(crate) fn shared_plan(&self) -> Arc<Plan> {
        self.0.plan.clone()
    }

    /// How long the run has gone on, or went on: until its last thread had done its work.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.pool.ended.get().map_or_else(|| self.0.since.elapsed(), |ended| ended.duration_since(self.0.since))
    }

    /// Whether everything is done, or the run has failed or was stopped. Its threads may still be within a step.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.0.pool.finished()
    }

    /// Whether the last thread of the run has done its work: from then on no counter changes.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.0.pool.ended.get().is_some()
    }

    /// The tasklets. The source is one of them unless it has a thread of its own; with values that need dropping there
    /// is a tasklet for that.
    pub fn tasklets(&self) -> impl Iterator<Item = TaskletInfo<'_>> {
        self.0.roster.tasks.iter().map(|task| {
            let (stage, end) = match task.watched.role {
                Role::Stage(stage) => (Some(stage), None),
                Role::Source => (None, task.watched.probe.output().map(|_| PipelineEnd::Source)),
                Role::Sink => (None, Some(PipelineEnd::Sink)),
                Role::SideOutput => (None, None),
            };
            let (side_output, own_thread) = (task.watched.role == Role::SideOutput, task.home == Home::Thread);
            let fused_into = task.fused_into.as_deref();
            TaskletInfo { name: &task.name, stage, side_output, end, own_thread, fused_into }
        })
    }

    /// The stages that read a ring, in pipeline order, then `sink` if the ring is also the output.
    pub fn readers(&self, ring: usize) -> impl Iterator<Item = &str> {
        let stages =
            self.0.plan.stages.iter().filter(move |stage| stage.reads.contains(&ring)).map(|stage| &*stage.name);
        stages.chain(self.0.plan.output.contains(&ring).then_some("sink"))
    }

    /// Reads all counters.
    pub fn read(&self, counters: &mut Counters) {
        let markers = &self.0.pool.shared.markers;
        // Before the others, which are then the last ones.
        counters.over = self.is_over();
        counters.running = !self.0.pool.finished();
        counters.observed = markers.on();
        if counters.of != self.0.id {
            // What was read last is of other rings.
            counters.rings.clear();
            counters.of = self.0.id;
        }
        counters.rings.resize_with(self.0.plan.rings.len(), RingCounters::default);
        for ((ring, watching), planned) in counters.rings.iter_mut().zip(self.rings()).zip(&self.0.plan.rings) {
            self.read_ring(ring, watching, planned.capacity.unwrap_or(0) as u64);
        }
        counters.source = match self.0.source.has_room(0) {
            _ if self.0.pool.shared.source_has_ended() => State::Starved,
            true => State::Working,
            false => State::Blocked,
        };
        counters.tasklets.clear();
        counters.tasklets.extend(self.0.roster.tasks.iter().map(|task| tasklet(task)));
        counters.workers.clear();
        counters.workers.extend(self.0.pool.activities());
        let seconds = |time: Duration| time.as_secs_f64();
        let times = self.0.pool.accounts.sums();
        counters.threads = times.map(|(ran, waited)| ThreadTimes { ran: seconds(ran), waited: seconds(waited) });
        counters.at = self.elapsed();
    }

    /// The load of every stage between two moments, which shows what holds the run [back](Loads::bottleneck). A moment
    /// `before` the version that it sees stands for the beginning of that version, and so does the default. `open` is
    /// the time for which the source's ring had room, if that was measured; otherwise it is estimated from how busy the
    /// stages were.
    ///
    /// ```
    /// use millstream::{exec::Counters, prelude::*};
    /// use std::{thread::sleep, time::Duration};
    /// let nap = |x: &u64| { sleep(Duration::from_millis(20)); *x };
    /// let p = pipeline::<u64>().map(|x| x + 1).map_blocking(nap).named("slow");
    /// let run = Rings::new().start((&p).from(source::ready(0..25)).to_each(|_, _| ()))?;
    /// let (observer, mut now) = (run.observer(), Counters::default());
    /// run.wait()?;
    /// observer.read(&mut now);
    /// let bottleneck = observer.loads(&Counters::default(), &now, None).bottleneck().unwrap();
    /// assert_eq!(bottleneck.stage, "slow");
    /// assert_eq!(bottleneck.gains[0].shards, 1);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn loads(&self, before: &Counters, now: &Counters, open: Option<Duration>) -> Loads {
        let before = self.0.began.get().filter(|began| before.at <= began.at).unwrap_or(before);
        loads::between((&self.0.pool, &self.0.roster), &self.0.plan, self.0.cores, (before, now), open)
    }

    fn read_ring(&self, ring: &mut RingCounters, watching: &Watching, capacity: u64) {
        let Some(probe) = &watching.probe else { return };
        ring.capacity = capacity;
        // The readers first: no reader releases a number before it is published.
        ring.consumed.resize(watching.readers.len(), 0);
        let tasks = &self.0.roster.tasks;
        for (consumed, readers) in ring.consumed.iter_mut().zip(&watching.readers) {
            let gone = u64::MAX;
            let least = if readers.is_empty() {
                // The program reads the output itself.
                Some(probe.released())
            } else {
                readers.iter().filter_map(|task| tasks[*task].watched.probe.consumed()).min()
            };
            *consumed = (*consumed).max(least.unwrap_or(gone));
        }
        // A tasklet that competes for a run of a group hides some numbers for a moment.
        ring.produced = ring.produced.max(probe.published());
        for consumed in &mut ring.consumed {
            *consumed = (*consumed).min(ring.produced);
        }
    }

    /// Whether this tasklet, by its index among [`tasklets`](Observer::tasklets), is in the middle of a step: most
    /// likely in user code. Use it to find out why nothing moves. A worker that meets the tasklet during this call
    /// first goes on to its other tasklets.
    #[must_use]
    pub fn in_step(&self, tasklet: usize) -> bool {
        self.0.roster.tasks.get(tasklet).is_some_and(|task| task.in_step() == Some(true))
    }

    /// Asks the source to write a latency marker when it next publishes. Only while the run is
    /// [observed](Observer::observe).
    pub fn note(&self) {
        self.0.pool.shared.markers.want();
    }

    /// How many latency markers the source has written. The last 256 can still be read.
    #[must_use]
    pub fn noted(&self) -> u64 {
        self.0.pool.shared.markers.count()
    }

    /// How many latency markers a stage of the plan has passed; the index after the last stage is the sink's.
    #[must_use]
    pub fn passed(&self, stage: usize) -> u64 {
        self.0.roster.passes.passed(stage)
    }

    /// When a stage had published all outputs of the values up to latency marker `marker`, or when the sink had seen
    /// them. `None` if that has not happened, or if the marker was overwritten.
    #[must_use]
    pub fn passed_at(&self, stage: usize, marker: u64) -> Option<Passed> {
        self.0.roster.passes.passed_at(stage, marker)
    }
}

impl std::fmt::Debug for Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Observer").field("finished", &self.is_finished()).finish_non_exhaustive()
    }
}
