//! Latency markers: latency without a time in any item.
//!
//! Each clock has a short list of markers, (number, time). The stage that starts the clock writes them: the source, or
//! a renumbering stage, which writes the markers that it has read at its own numbers. Every stage passes the markers of
//! its clock in order, after its steps, and leaves the time at which it did. A marker is written when one is asked for,
//! once a millisecond for example. An observed step looks at that list; a step that is not observed reads one flag.

use crate::task_probe::TaskProbe;
use millstream_core::Plan;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many markers a list has; older ones are overwritten.
pub(crate) const MARKERS: usize = 256;

/// No marker.
const NONE: u64 = u64::MAX;

/// The markers of a run that its source writes.
pub(crate) struct LatencyMarkers {
    on: AtomicBool,
    wanted: AtomicBool,
    since: Instant,
    /// Those of the source's clock. Allocated when the run is observed for the first time.
    source: OnceLock<Clock>,
}

/// The markers on the other clocks of one version of a run's pipeline, and when its stages passed markers.
pub(crate) struct MarkerPasses {
    /// How many clocks and readers its plan has.
    sizes: (usize, usize),
    /// Allocated when it is observed for the first time.
    lists: OnceLock<Lists>,
}

/// When a latency marker was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Passed {
    /// The time since the start of the run.
    pub at: Duration,
    /// The time since the source published the values up to the marker.
    pub since_source: Duration,
}

pub(crate) struct Lists {
    /// The clocks after the source's.
    clocks: Box<[Clock]>,
    passes: Box<[Passes]>,
}

/// The markers of one clock: one thread writes them, all threads read them.
struct Clock {
    count: AtomicU64,
    entries: Box<[Entry]>,
}

struct Entry {
    /// The marker's index; [`NONE`] while it is written.
    id: AtomicU64,
    /// All numbers below it were published at that time.
    bound: AtomicU64,
    /// The time, in nanoseconds, at which the source published the values up to the marker.
    origin: AtomicU64,
}

/// The times at which a stage, or the sink, passed the markers of its clock.
struct Passes {
    /// The next marker. It is shared, as several tasklets may run one stage.
    next: AtomicU64,
    passing: Mutex<()>,
    /// For each marker the time it was passed, and the time since its origin.
    times: Box<[[AtomicU64; 2]]>,
}

impl Clock {
    fn new() -> Self {
        let entry = || Entry { id: AtomicU64::new(NONE), bound: AtomicU64::new(0), origin: AtomicU64::new(0) };
        Clock { count: AtomicU64::new(0), entries: (0..MARKERS).map(|_| entry()).collect() }
    }

    /// Called only by the one that starts the clock.
    fn write(&self, id: u64, bound: u64, origin: u64) {
        let entry = &self.entries[id as usize % MARKERS];
        entry.id.store(NONE, Ordering::Relaxed);
        // A reader that sees one of these then reads `NONE`, or a later marker's index.
        entry.bound.store(bound, Ordering::Release);
        entry.origin.store(origin, Ordering::Release);
        entry.id.store(id, Ordering::Release);
        self.count.store(id + 1, Ordering::Release);
    }

    /// A marker's bound and origin; none if it was not written, or was overwritten.
    fn read(&self, id: u64) -> Option<(u64, u64)> {
        let entry = &self.entries[id as usize % MARKERS];
        let is_it = || entry.id.load(Ordering::Acquire) == id;
        let marker = is_it().then(|| (entry.bound.load(Ordering::Acquire), entry.origin.load(Ordering::Acquire)));
        marker.filter(|_| is_it())
    }
}

impl Passes {
    fn new(first: u64) -> Self {
        let times = (0..MARKERS).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        Passes { next: AtomicU64::new(first), passing: Mutex::new(()), times }
    }

    /// Records that marker `id` was passed at `time`; a time of 0 means that it was overwritten before.
    fn pass(&self, id: u64, time: u64, since_source: u64) {
        let [at, since] = &self.times[id as usize % MARKERS];
        // A reader that sees one of these also sees that the marker 256 before it is gone.
        at.store(time, Ordering::Release);
        since.store(since_source, Ordering::Release);
        self.next.store(id + 1, Ordering::Release);
    }

    /// The time at which marker `id` was passed; none if it was not, or if the time was overwritten.
    fn at(&self, id: u64) -> Option<Passed> {
        // One less than the list holds, since the next one may be half written.
        let kept = |next: u64| id < next && next - id < MARKERS as u64;
        kept(self.next.load(Ordering::Acquire)).then_some(())?;
        let [at, since] = &self.times[id as usize % MARKERS];
        let (at, since) = (at.load(Ordering::Acquire), since.load(Ordering::Acquire));
        let (time, since_source) = (Duration::from_nanos(at), Duration::from_nanos(since));
        (at > 0 && kept(self.next.load(Ordering::Acquire))).then_some(Passed { at: time, since_source })
    }
}

/// The clocks that a stage reads and starts, and its index among the readers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkerWiring {
    pub(crate) reader: usize,
    pub(crate) clock: usize,
    /// The clock of its output; none for a sink.
    pub(crate) starts: Option<usize>,
}

impl MarkerPasses {
    pub(crate) fn of(plan: &Plan) -> Arc<Self> {
        let clocks = plan.rings.iter().map(|ring| ring.clock).max().unwrap_or(0);
        Arc::new(MarkerPasses { sizes: (clocks, plan.stages.len() + 1), lists: OnceLock::new() })
    }

    /// How many markers a stage or the sink has passed.
    pub(crate) fn passed(&self, reader: usize) -> u64 {
        self.lists.get().map_or(0, |lists| lists.passes[reader].next.load(Ordering::Acquire))
    }

    /// The time at which a stage or the sink passed marker `id`.
    pub(crate) fn passed_at(&self, reader: usize, id: u64) -> Option<Passed> {
        self.lists.get()?.passes[reader].at(id)
    }
}

impl LatencyMarkers {
    pub(crate) fn new() -> Self {
        let (on, wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        LatencyMarkers { on, wanted, since: Instant::now(), source: OnceLock::new() }
    }

    /// Whether the run is observed. While it is not, this load is the whole cost.
    #[inline]
    pub(crate) fn on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn switch(&self, on: bool) {
        if on {
            self.want();
        }
        self.on.store(on, Ordering::Relaxed);
    }

    fn source(&self) -> &Clock {
        self.source.get_or_init(Clock::new)
    }

    /// The lists of a version. Its stages pass the markers that are written after the first call.
    pub(crate) fn lists<'p>(&self, passes: &'p MarkerPasses) -> &'p Lists {
        passes.lists.get_or_init(|| {
            let (clocks, readers) = passes.sizes;
            let first = self.count();
            Lists {
                clocks: (0..clocks).map(|_| Clock::new()).collect(),
                passes: (0..readers).map(|_| Passes::new(first)).collect(),
            }
        })
    }

    pub(crate) fn now(&self) -> u64 {
        self.since.elapsed().as_nanos() as u64
    }

    /// The source writes a marker when it next publishes.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Called by the source when it has published every number below `bound`.
    #[inline]
    pub(crate) fn published(&self, bound: impl FnOnce() -> u64) {
        if self.on() && self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(false, Ordering::Relaxed);
            let clock = self.source();
            clock.write(clock.count.load(Ordering::Relaxed), bound(), self.now());
        }
    }

    /// Called by a stage or a sink after a step of an observed run.
    #[inline]
    pub(crate) fn pass(&self, passes: &MarkerPasses, reader: MarkerWiring, probe: &TaskProbe) {
        let lists = self.lists(passes);
        let (next, written) = (&lists.passes[reader.reader].next, &self.clock(lists, reader.clock).count);
        if next.load(Ordering::Relaxed) < written.load(Ordering::Relaxed) {
            self.pass_due(lists, reader, probe);
        }
    }

    fn clock<'l>(&'l self, lists: &'l Lists, clock: usize) -> &'l Clock {
        match clock.checked_sub(1) {
            None => self.source(),
            Some(behind) => &lists.clocks[behind],
        }
    }

    #[cold]
    fn pass_due(&self, lists: &Lists, reader: MarkerWiring, probe: &TaskProbe) {
        let (clock, passes) = (self.clock(lists, reader.clock), &lists.passes[reader.reader]);
        let same = reader.starts == Some(reader.clock);
        let due = || {
            let id = passes.next.load(Ordering::Relaxed);
            let written = id < clock.count.load(Ordering::Acquire);
            // An overwritten marker is passed without a time.
            written
                .then(|| (id, clock.read(id)))
                .filter(|(_, marker)| marker.is_none_or(|(bound, _)| probe.has_passed(bound, same)))
        };
        if due().is_none() {
            return;
        }
        let _passing = passes.passing.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((id, marker)) = due() {
            if let (Some((_, origin)), Some(starts), false, Some(output)) =
                (marker, reader.starts, same, probe.output())
            {
                self.clock(lists, starts).write(id, output.published(), origin);
            }
            let now = self.now();
            passes.pass(id, marker.map_or(0, |_| now), marker.map_or(0, |(_, origin)| now.saturating_sub(origin)));
        }
    }

    /// How many markers the source has written.
    pub(crate) fn count(&self) -> u64 {
        self.source.get().map_or(0, |clock| clock.count.load(Ordering::Acquire))
    }
}
