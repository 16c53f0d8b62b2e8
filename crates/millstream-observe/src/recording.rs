//! A run from beginning to end, as one picture with steps.

mod elements;
mod picture;
mod version;

pub use elements::Elements;
pub use version::RecordedVersion;

use crate::frame::Change;
use crate::graph::Graph;
use millstream_exec::{Counters, Observer, PipelineEnd, State};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Records the progress of every ring and stage of a run, once a millisecond, from a thread of its own.
///
/// If the pipeline is [replaced](millstream_exec::Handle::upgrade) meanwhile, the recorder goes on with the next
/// version: each has a graph and moments of its own, and the picture shows the one of the moment.
///
/// The memory is bounded, however long the run is: only changes are kept, and fewer moments of a long run, so that the
/// picture has at most about two megabytes; of many versions the last 16 are kept. The run need not be observed, and
/// its only cost is the recorder's thread.
///
/// ```
/// use millstream::{observe::Recorder, prelude::*};
/// let p = pipeline::<u64>().map(|x| x + 1).named("more");
/// let run = Rings::new().start((&p).from(source::ready(0..100_000)).to_each(|_, _| ()))?;
/// let recorder = Recorder::attach(run.observer())?;
/// run.wait()?;
/// let recording = recorder.finish();
/// let last = recording.moments.last().unwrap();
/// assert_eq!(last.rings[0].produced, 100_001); // END counts
/// assert!(recording.svg().contains("<script>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The idea is from the pipelines that Millstream began with, which had a sequence of pictures of a word count.
#[derive(Debug)]
pub struct Recorder {
    stop: Sender<()>,
    thread: JoinHandle<Recording>,
}

/// A recorded run.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recording {
    /// The graph of the run: of its last version, if the pipeline was replaced.
    pub graph: Graph,
    /// The first moment is the beginning of the recording, or of the last version, and the last one is the end. Each
    /// other moment differs from the one before.
    pub moments: Vec<Moment>,
    /// How the last version began; none if it is the first one that was recorded.
    pub change: Option<Change>,
    /// The versions before that one, in their order.
    pub before: Vec<RecordedVersion>,
    /// The elements that were kept, with their numbers, by the name of their stage.
    pub elements: BTreeMap<String, VecDeque<(u64, String)>>,
}

/// The progress of all rings and stages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// The time since the start of the run.
    pub at: Duration,
    /// The rings, as in the plan.
    pub rings: Vec<Level>,
    /// The state of each node of the graph.
    pub states: Vec<State>,
}

/// The progress of a ring.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// The count of published numbers.
    pub produced: u64,
    /// The count of numbers that each reader has released.
    pub consumed: Vec<u64>,
}

/// The time between two samples.
const SPACING: Duration = Duration::from_millis(1);

/// The most moments of a small graph, and the most numbers in all moments of a large one.
const MOST_MOMENTS: usize = 2000;
const MOST_NUMBERS: usize = 200_000;

/// The most versions.
const MOST_VERSIONS: usize = 16;

impl Recorder {
    /// Begins to record a run.
    ///
    /// # Errors
    ///
    /// If the thread could not be started.
    pub fn attach(observer: Observer) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let builder = std::thread::Builder::new().name("millstream-record".to_owned());
        let thread = builder.spawn(move || {
            let mut tape = Tape::new(observer, None);
            let mut next = Instant::now();
            while tape.look() {
                // Late samples are not made up for, and a sample takes at most a fifth of the time.
                next = (next + SPACING).max(Instant::now() + tape.took * 4);
                let left = next.saturating_duration_since(Instant::now());
                if stopped.recv_timeout(left) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            tape.end()
        })?;
        Ok(Recorder { stop, thread })
    }

    /// Ends the recording at the end of the run, or now.
    ///
    /// # Panics
    ///
    /// If the recorder's thread has panicked, which would be a defect of this crate.
    #[must_use]
    pub fn finish(self) -> Recording {
        // An error means that it has ended already.
        let _ = self.stop.send(());
        self.thread.join().expect("a recorder does not panic")
    }
}

/// A recording in progress.
struct Tape {
    observer: Observer,
    graph: Graph,
    /// For each tasklet, its node.
    nodes: Vec<Option<usize>>,
    counters: Counters,
    now: Moment,
    moments: Vec<Moment>,
    most: usize,
    /// The minimum time between two moments.
    apart: Duration,
    /// The time of the last sample.
    took: Duration,
    change: Option<Change>,
    before: Vec<RecordedVersion>,
}

impl Tape {
    fn new(observer: Observer, change: Option<Change>) -> Self {
        let graph = Graph::of(observer.plan());
        let nodes = observer.tasklets().map(|tasklet| match (tasklet.stage, tasklet.end) {
            (Some(stage), _) => Some(stage + 1),
            (None, Some(PipelineEnd::Sink)) => Some(graph.nodes.len() - 1),
            (None, _) => None,
        });
        let numbers = version::numbers(&graph);
        Tape {
            nodes: nodes.collect(),
            counters: Counters::default(),
            now: Moment::default(),
            moments: Vec::new(),
            most: (MOST_NUMBERS / numbers).clamp(16, MOST_MOMENTS),
            apart: Duration::ZERO,
            took: Duration::ZERO,
            change,
            before: Vec::new(),
            observer,
            graph,
        }
    }

    /// Takes a sample, and keeps it if it is new. Returns whether there can be more.
    fn look(&mut self) -> bool {
        let begun = Instant::now();
        self.follow();
        self.read();
        let new = self.moments.last().is_none_or(|last| {
            (self.now.at >= last.at + self.apart) && (self.now.rings != last.rings || self.now.states != last.states)
        });
        if new {
            self.moments.push(self.now.clone());
            if self.moments.len() >= self.most {
                self.thin();
            }
        }
        self.took = begun.elapsed();
        !self.counters.over
    }

    /// Goes on with the version that has taken the place of the present one, if there is one.
    fn follow(&mut self) {
        let Some((observer, change)) = version::after(&self.observer) else { return };
        self.keep_last();
        let at = change.at;
        let next = Tape::new(observer, Some(change));
        let Tape { graph, moments, change, before, .. } = std::mem::replace(self, next);
        self.before = before;
        self.before.push(RecordedVersion { graph, moments, change }.ended_at(at));
        if self.before.len() >= MOST_VERSIONS {
            self.before.remove(0);
        }
        // Together they have as many moments as one would have.
        let versions = self.before.len() + 1;
        self.most = (self.most / versions).max(16);
        for version in &mut self.before {
            version.thin((MOST_NUMBERS / version.numbers()).min(MOST_MOMENTS) / versions);
        }
    }

    /// Drops every second moment, but not the first.
    fn thin(&mut self) {
        version::halve(&mut self.moments);
        let recorded = self.now.at.saturating_sub(self.moments[0].at);
        self.apart = recorded / self.moments.len() as u32;
    }

    fn read(&mut self) {
        self.observer.read(&mut self.counters);
        let (counters, now) = (&self.counters, &mut self.now);
        // The clock of a run stops at a time that is somewhat earlier than that of a look at the same moment.
        now.at = now.at.max(counters.at);
        now.rings.resize_with(counters.rings.len(), Level::default);
        for (level, ring) in now.rings.iter_mut().zip(&counters.rings) {
            level.produced = ring.produced;
            level.consumed.clone_from(&ring.consumed);
        }
        now.states.clear();
        now.states.resize(self.graph.nodes.len(), State::Starved);
        now.states[0] = counters.source;
        for (tasklet, node) in counters.tasklets.iter().zip(&self.nodes) {
            let Some(node) = *node else { continue };
            now.states[node] = match (now.states[node], tasklet.state) {
                (State::Working, _) | (_, State::Working) => State::Working,
                (State::Blocked, _) | (_, State::Blocked) => State::Blocked,
                (State::Starved, State::Starved) => State::Starved,
            };
        }
    }

    /// Keeps how far everything has come.
    fn keep_last(&mut self) {
        self.read();
        if self.moments.last() != Some(&self.now) {
            self.moments.push(self.now.clone());
        }
    }

    fn end(mut self) -> Recording {
        self.follow();
        self.keep_last();
        let Tape { graph, moments, change, before, .. } = self;
        Recording { graph, moments, change, before, elements: BTreeMap::new() }
    }
}

impl Recording {
    /// Adds elements that were kept meanwhile. Below each stage the picture then shows its latest element.
    #[must_use]
    pub fn with(self, elements: &Elements) -> Self {
        Recording { elements: elements.kept(), ..self }
    }

    /// The recording as one self-contained SVG, which a browser opens without a server. It has play, pause, steps and a
    /// slider for the time, and at each moment the numbers on every ring and stage. On the slider there is a mark for
    /// each change of the pipeline, with its version and its number. Without scripts it shows the last moment.
    #[must_use]
    pub fn svg(&self) -> String {
        picture::of(self)
    }

    /// The progress of a node: the count of numbers that the source had published, or that another node had read.
    #[must_use]
    pub fn reached(&self, moment: &Moment, node: usize) -> u64 {
        version::reached(&self.graph, moment, node)
    }
}
