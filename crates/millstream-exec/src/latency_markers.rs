//! Latency markers: latency without a time in any item.
//!
//! Each clock has a short list of markers, (number, time). The stage that starts the clock writes them: the source, or
//! a renumbering stage, which writes at its own number what it has read. Every stage passes the markers of its clock in
//! order, after its steps, and leaves the time at which it did. A marker is written when one is asked for, once a
//! millisecond for example. An observed step looks at that list; a step that is not observed reads one flag.

use crate::observer::Passed;
use crate::task_probe::TaskProbe;
use millstream_core::Plan;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// How many notes a list has; older ones are written over.
pub(crate) const NOTES: usize = 256;

/// Not a note.
const NONE: u64 = u64::MAX;

pub(crate) struct LatencyMarkers {
    on: AtomicBool,
    wanted: AtomicBool,
    since: Instant,
    clocks: usize,
    readers: usize,
    /// Made when a run is observed for the first time.
    lists: OnceLock<Lists>,
}

struct Lists {
    clocks: Box<[Clock]>,
    passes: Box<[Passes]>,
}

/// The notes of one clock: written by one, read by all.
struct Clock {
    count: AtomicU64,
    entries: Box<[Entry]>,
}

struct Entry {
    /// Which note this is; [`NONE`] while it is written.
    id: AtomicU64,
    /// All numbers below it were published then.
    bound: AtomicU64,
    /// When the source had published what it is about, in nanoseconds.
    origin: AtomicU64,
}

/// When a stage, or the sink, passed the notes of its clock.
struct Passes {
    /// The next note. Several tasklets run one stage.
    next: AtomicU64,
    passing: Mutex<()>,
    /// When each was passed, and how long that was after its origin.
    times: Box<[[AtomicU64; 2]]>,
}

impl Clock {
    fn new() -> Self {
        let entry = || Entry { id: AtomicU64::new(NONE), bound: AtomicU64::new(0), origin: AtomicU64::new(0) };
        Clock { count: AtomicU64::new(0), entries: (0..NOTES).map(|_| entry()).collect() }
    }

    /// Only whoever starts the clock calls it.
    fn write(&self, id: u64, bound: u64, origin: u64) {
        let entry = &self.entries[id as usize % NOTES];
        entry.id.store(NONE, Ordering::Relaxed);
        // Whoever reads one of these reads `NONE` afterwards, or a later note's.
        entry.bound.store(bound, Ordering::Release);
        entry.origin.store(origin, Ordering::Release);
        entry.id.store(id, Ordering::Release);
        self.count.store(id + 1, Ordering::Release);
    }

    /// A note's bound and origin, unless it was never written here, or is written over.
    fn read(&self, id: u64) -> Option<(u64, u64)> {
        let entry = &self.entries[id as usize % NOTES];
        let is_it = || entry.id.load(Ordering::Acquire) == id;
        let note = is_it().then(|| (entry.bound.load(Ordering::Acquire), entry.origin.load(Ordering::Acquire)));
        note.filter(|_| is_it())
    }
}

impl Passes {
    fn new() -> Self {
        let times = (0..NOTES).map(|_| [AtomicU64::new(0), AtomicU64::new(0)]).collect();
        Passes { next: AtomicU64::new(0), passing: Mutex::new(()), times }
    }

    /// Says when note `id` was passed; 0 if it was written over before.
    fn pass(&self, id: u64, time: u64, since_source: u64) {
        let [at, since] = &self.times[id as usize % NOTES];
        // Whoever reads one of these also sees that the note 256 before it is gone.
        at.store(time, Ordering::Release);
        since.store(since_source, Ordering::Release);
        self.next.store(id + 1, Ordering::Release);
    }

    /// When note `id` was passed, unless it was not, or that is written over.
    fn at(&self, id: u64) -> Option<Passed> {
        // One less than there are, since the next one may just be written.
        let kept = |next: u64| id < next && next - id < NOTES as u64;
        kept(self.next.load(Ordering::Acquire)).then_some(())?;
        let [at, since] = &self.times[id as usize % NOTES];
        let (at, since) = (at.load(Ordering::Acquire), since.load(Ordering::Acquire));
        let (time, since_source) = (Duration::from_nanos(at), Duration::from_nanos(since));
        (at > 0 && kept(self.next.load(Ordering::Acquire))).then_some(Passed { at: time, since_source })
    }
}

/// Which clocks a stage reads and starts, and which of those who pass notes it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MarkerWiring {
    pub(crate) reader: usize,
    pub(crate) clock: usize,
    /// The clock of its output; none of a sink.
    pub(crate) starts: Option<usize>,
}

impl LatencyMarkers {
    pub(crate) fn of(plan: &Plan) -> Self {
        let clocks = plan.rings.iter().map(|ring| ring.clock + 1).max().unwrap_or(1);
        let (on, wanted) = (AtomicBool::new(false), AtomicBool::new(false));
        LatencyMarkers {
            on,
            wanted,
            since: Instant::now(),
            clocks,
            readers: plan.stages.len() + 1,
            lists: OnceLock::new(),
        }
    }

    /// Whether the run is observed: all that anybody looks at if it is not.
    #[inline]
    pub(crate) fn on(&self) -> bool {
        self.on.load(Ordering::Relaxed)
    }

    pub(crate) fn switch(&self, on: bool) {
        if on {
            let _ = self.lists();
            self.want();
        }
        self.on.store(on, Ordering::Relaxed);
    }

    fn lists(&self) -> &Lists {
        self.lists.get_or_init(|| Lists {
            clocks: (0..self.clocks).map(|_| Clock::new()).collect(),
            passes: (0..self.readers).map(|_| Passes::new()).collect(),
        })
    }

    pub(crate) fn now(&self) -> u64 {
        self.since.elapsed().as_nanos() as u64
    }

    /// The source notes what it publishes next.
    pub(crate) fn want(&self) {
        self.wanted.store(true, Ordering::Relaxed);
    }

    /// Called by the source when it has published every number below `bound`.
    #[inline]
    pub(crate) fn published(&self, bound: impl FnOnce() -> u64) {
        if self.on() && self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(false, Ordering::Relaxed);
            let clock = &self.lists().clocks[0];
            clock.write(clock.count.load(Ordering::Relaxed), bound(), self.now());
        }
    }

    /// Called by a stage or a sink behind a step.
    #[inline]
    pub(crate) fn pass(&self, who: MarkerWiring, probe: &TaskProbe) {
        let Some(lists) = self.lists.get() else { return };
        let (next, noted) = (&lists.passes[who.reader].next, &lists.clocks[who.clock].count);
        if next.load(Ordering::Relaxed) < noted.load(Ordering::Relaxed) {
            self.pass_what_is_due(lists, who, probe);
        }
    }

    #[cold]
    fn pass_what_is_due(&self, lists: &Lists, who: MarkerWiring, probe: &TaskProbe) {
        let (clock, passes) = (&lists.clocks[who.clock], &lists.passes[who.reader]);
        let same = who.starts == Some(who.clock);
        let due = || {
            let id = passes.next.load(Ordering::Relaxed);
            let noted = id < clock.count.load(Ordering::Acquire);
            // A note that is lost is passed without a time.
            noted
                .then(|| (id, clock.read(id)))
                .filter(|(_, note)| note.is_none_or(|(bound, _)| probe.has_passed(bound, same)))
        };
        if due().is_none() {
            return;
        }
        let _passing = passes.passing.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some((id, note)) = due() {
            if let (Some((_, origin)), Some(starts), false, Some(output)) = (note, who.starts, same, probe.output()) {
                lists.clocks[starts].write(id, output.published(), origin);
            }
            let now = self.now();
            passes.pass(id, note.map_or(0, |_| now), note.map_or(0, |(_, origin)| now.saturating_sub(origin)));
        }
    }

    /// How many notes a stage or the sink has passed.
    pub(crate) fn passed(&self, reader: usize) -> u64 {
        self.lists.get().map_or(0, |lists| lists.passes[reader].next.load(Ordering::Acquire))
    }

    /// How many notes the source has written.
    pub(crate) fn count(&self) -> u64 {
        self.lists.get().map_or(0, |lists| lists.clocks[0].count.load(Ordering::Acquire))
    }

    /// When a stage or the sink passed note `id`.
    pub(crate) fn passed_at(&self, reader: usize, id: u64) -> Option<Passed> {
        self.lists.get()?.passes[reader].at(id)
    }
}
