//! A run from its beginning to its end, as one picture to step through.

mod elements;
mod picture;

pub use elements::Elements;

use crate::frame::{Frame, RingFrame, StageFrame};
use crate::graph::Graph;
use millstream_exec::{Counters, Observer, PipelineEnd, State};
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Records how far every ring and stage of a run has come, from a thread of its own, once a millisecond.
///
/// What is kept is bounded, however long the run is: only what has changed, and of a long run fewer moments, so that the
/// picture stays below some two megabytes. The run need not be observed, and pays nothing but for the thread that looks.
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Rings, Run, source};
/// use millstream_observe::Recorder;
/// let p = pipeline::<u64>().map(|x| x + 1).named("more");
/// let run = p.start(&Rings::new(), source::ready(0..100_000), (), |(), _, _| ())?;
/// let recorder = Recorder::attach(run.observer())?;
/// run.wait()?;
/// let recording = recorder.finish();
/// let last = recording.moments.last().unwrap();
/// assert_eq!(last.rings[0].produced, 100_001); // END counts
/// assert!(recording.svg().contains("<script>"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The idea, as a sequence of pictures of a word count to step through, is of the pipelines that Millstream began with.
#[derive(Debug)]
pub struct Recorder {
    stop: Sender<()>,
    thread: JoinHandle<Recording>,
}

/// What was recorded.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Recording {
    /// What the moments are about.
    pub graph: Graph,
    /// The first is the beginning of the recording, the last one its end; of those between, each differs from the one before.
    pub moments: Vec<Moment>,
    /// The elements that were kept, with their numbers, by the names of the stages that gave them.
    pub elements: BTreeMap<String, VecDeque<(u64, String)>>,
}

/// How far everything had come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Moment {
    /// When that was, since the start of the run.
    pub at: Duration,
    /// The rings, as in the plan.
    pub rings: Vec<Level>,
    /// What every node of the graph could do.
    pub states: Vec<State>,
}

/// How far a ring had come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Level {
    /// How many numbers were published.
    pub produced: u64,
    /// How many each reader had released.
    pub consumed: Vec<u64>,
}

/// The time between two looks.
const SPACING: Duration = Duration::from_millis(1);

/// As many moments are kept of a small graph, and of a large one so many that they have this many numbers in all.
const MOST_MOMENTS: usize = 2000;
const MOST_NUMBERS: usize = 200_000;

impl Recorder {
    /// Records a run from now on.
    ///
    /// # Errors
    ///
    /// If the thread could not be started.
    pub fn attach(observer: Observer) -> io::Result<Self> {
        let (stop, stopped) = mpsc::channel();
        let builder = std::thread::Builder::new().name("millstream-record".to_owned());
        let thread = builder.spawn(move || {
            let mut tape = Tape::new(observer);
            let mut next = Instant::now();
            while tape.look() {
                // What is late is not made up for; and a look takes a fifth of the time at most.
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

    /// Ends the recording: where the run has ended, or now.
    ///
    /// # Panics
    ///
    /// If whoever records has panicked, which would be a defect of ours.
    #[must_use]
    pub fn finish(self) -> Recording {
        // It may have ended by itself.
        let _ = self.stop.send(());
        self.thread.join().expect("a recorder does not panic")
    }
}

/// What is recorded while the run goes on.
struct Tape {
    observer: Observer,
    graph: Graph,
    /// For every tasklet whose node it runs.
    nodes: Vec<Option<usize>>,
    counters: Counters,
    now: Moment,
    moments: Vec<Moment>,
    most: usize,
    /// Moments are so far apart at least.
    apart: Duration,
    /// How long the last look took.
    took: Duration,
}

impl Tape {
    fn new(observer: Observer) -> Self {
        let graph = Graph::of(observer.plan());
        let nodes = observer.tasklets().map(|tasklet| match (tasklet.stage, tasklet.end) {
            (Some(stage), _) => Some(stage + 1),
            (None, Some(PipelineEnd::Sink)) => Some(graph.nodes.len() - 1),
            (None, _) => None,
        });
        let numbers = graph.wires.iter().map(|wire| 1 + wire.to.len()).sum::<usize>() + graph.nodes.len();
        Tape {
            nodes: nodes.collect(),
            counters: Counters::default(),
            now: Moment::default(),
            moments: Vec::new(),
            most: (MOST_NUMBERS / numbers).clamp(16, MOST_MOMENTS),
            apart: Duration::ZERO,
            took: Duration::ZERO,
            observer,
            graph,
        }
    }

    /// Looks, and keeps what is new; whether there can be more.
    fn look(&mut self) -> bool {
        let begun = Instant::now();
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
        self.counters.running
    }

    /// Forgets every second moment, but for the first.
    fn thin(&mut self) {
        let mut index = 0;
        self.moments.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        let recorded = self.now.at.saturating_sub(self.moments[0].at);
        self.apart = recorded / self.moments.len() as u32;
    }

    fn read(&mut self) {
        self.observer.read(&mut self.counters);
        let (counters, now) = (&self.counters, &mut self.now);
        now.at = counters.at;
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

    fn end(mut self) -> Recording {
        self.read();
        if self.moments.last() != Some(&self.now) {
            self.moments.push(self.now);
        }
        Recording { graph: self.graph, moments: self.moments, elements: BTreeMap::new() }
    }
}

impl Recording {
    /// The same with elements that were kept meanwhile: the picture shows below a stage the last one that it had given.
    #[must_use]
    pub fn with(self, elements: &Elements) -> Self {
        Recording { elements: elements.kept(), ..self }
    }

    /// All of it as one self-contained SVG, which a browser opens without a server: play, pause, steps and a slider through
    /// the time, and at each moment the numbers on every ring and stage. Where nothing may run in a picture it shows the
    /// last moment.
    #[must_use]
    pub fn svg(&self) -> String {
        picture::of(self)
    }

    /// How far a node had come: of the source how many numbers it had published, of others how many they had read.
    #[must_use]
    pub fn reached(&self, moment: &Moment, node: usize) -> u64 {
        let rings = self.graph.wires.iter().zip(&moment.rings);
        let of_ring = |(wire, level): (&crate::Wire, &Level)| {
            let read = wire.to.iter().position(|to| *to == node).and_then(|reader| level.consumed.get(reader).copied());
            read.or_else(|| (node == 0 && wire.from == 0).then_some(level.produced))
        };
        rings.filter_map(of_ring).max().unwrap_or(0)
    }

    /// The last moment as a frame, of which a picture can be drawn.
    fn last_frame(&self) -> Frame {
        let none = Moment::default();
        let last = self.moments.last().unwrap_or(&none);
        let ring = |(wire, level): (&crate::Wire, &Level)| {
            let capacity = wire.capacity.unwrap_or(0) as u64;
            let least = level.consumed.iter().min().unwrap_or(&level.produced);
            let occupied = level.produced.saturating_sub(*least).min(capacity);
            let (produced, consumed) = (level.produced, level.consumed.clone());
            RingFrame { produced, consumed, capacity, occupied, ..RingFrame::default() }
        };
        let stage = |(node, described): (usize, &crate::Node)| {
            let state = last.states.get(node).copied().unwrap_or_default();
            let share = |of: State| f64::from(u8::from(state == of));
            StageFrame {
                name: described.name.clone(),
                moved: self.reached(last, node),
                working: share(State::Working),
                starved: share(State::Starved),
                blocked: share(State::Blocked),
                ..StageFrame::default()
            }
        };
        Frame {
            at: last.at.as_secs_f64(),
            rings: self.graph.wires.iter().zip(&last.rings).map(ring).collect(),
            stages: self.graph.nodes.iter().enumerate().map(stage).collect(),
            ..Frame::default()
        }
    }
}
