//! What was seen of a run in a short time, as plain data.

use millstream_exec::{Bottleneck, State};
use serde::{Deserialize, Serialize};

/// What was seen of a run since the frame before, and what it has counted up to then.
///
/// Times are in seconds unless the name says otherwise, shares from 0 to 1. Numbers below END and END itself count alike, so
/// a ring of a run that has ended has counted one more than its clock is long. Who the stages and rings are
/// [`Graph`](crate::Graph) tells: they stand in the same order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Frame {
    /// Its place among the run's frames, from 0.
    pub number: u64,
    /// When it was made, since the start of the run.
    pub at: f64,
    /// How long it is: since the frame before.
    pub span: f64,
    /// How often the run was looked at since.
    pub looks: u64,
    /// Whether the run goes on. The last frame of a run says no.
    pub running: bool,
    /// The rings, as in the plan.
    pub rings: Vec<RingFrame>,
    /// The source, the stages as in the plan, the sink.
    pub stages: Vec<StageFrame>,
    /// What stands aside, in pipeline order: dead-letter sinks, by the names of their stages with `.dead-letters` behind, and
    /// the ends of `tee`s.
    pub side_outputs: Vec<StageFrame>,
    /// The workers.
    pub workers: Vec<WorkerFrame>,
    /// From the source to the sink, since the watch began.
    pub latency: Option<Latency>,
    /// What holds the run back, by the last two seconds, or the time of the frame if that is longer.
    pub bottleneck: Option<Bottleneck>,
    /// The stages whose function has not come back for two seconds or more.
    pub stuck: Vec<Stuck>,
}

/// A stage that is in the middle of a step for long: its function waits for something, or does not end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stuck {
    /// Its name; of what stands aside as well.
    pub stage: String,
    /// It has come as far as this number: it is at this one or, if it takes several at once, at one behind it.
    pub number: u64,
    /// For how many seconds it has moved nothing.
    pub seconds: f64,
    /// The same in words.
    pub sentence: String,
}

/// A ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RingFrame {
    /// How many numbers were published.
    pub produced: u64,
    /// How many each reader has released.
    pub consumed: Vec<u64>,
    /// How many slots there are.
    pub capacity: u64,
    /// How many slots were in use when the frame was made.
    pub occupied: u64,
    /// The share of the slots that was in use, on average: near 1 where whoever reads it is slower than who writes it.
    pub occupancy: f64,
    /// The share of the looks at which it was full.
    pub full: f64,
    /// Numbers published in a second.
    pub rate: f64,
}

/// A stage, or an end of the pipeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct StageFrame {
    /// Its name in the plan; `source` and `sink` are the ends.
    pub name: String,
    /// Numbers it has moved, by all of its tasklets: of a stage with keys, numbers passed by any of them.
    pub moved: u64,
    /// Numbers it moved in a second.
    pub rate: f64,
    /// The steps in which it moved them: batches.
    pub batches: u64,
    /// How many steps moved 1, 2 to 3, 4 to 7, ... numbers.
    pub batch_sizes: Vec<u64>,
    /// What a number cost in the time of this frame, in nanoseconds, by the steps that were timed; where none was, by all
    /// since the start.
    pub service_ns: Option<f64>,
    /// How busy it was: that times how many it moved in a second, over its tasklets.
    pub utilisation: Option<f64>,
    /// The share of the looks at which it had input and room. It was at work then, or waited for its worker; a source
    /// waited for what is outside, perhaps.
    pub working: f64,
    /// The share at which it waited for input, or had ended. The three shares sum to 1.
    pub starved: f64,
    /// The share at which it waited for room.
    pub blocked: f64,
    /// Whether all of its tasklets have ended.
    pub done: bool,
    /// Calls of its function, or futures it gave, that came to an error.
    pub failures: u64,
    /// How many of them were tried again.
    pub retries: u64,
    /// Values that were put aside because one of their key had failed.
    pub parked: u64,
    /// The share of its slots that it left empty, with those that were empty when they came: by the batches that were looked
    /// at in the time of this frame; where none was, by all since the start. Exactly 0 where its type leaves nothing empty;
    /// none for a sink, and where nobody has looked.
    pub empties: Option<f64>,
    /// From when a number was there for it until it had published what it makes of it, since the watch began.
    pub latency: Option<Latency>,
}

/// A worker, by shares of the looks, which sum to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerFrame {
    /// Something moved.
    pub busy: f64,
    /// Nothing did, and it looked again.
    pub idle: f64,
    /// It slept.
    pub parked: f64,
}

/// How long numbers took, by those that were noted: up to a thousand a second. Within 1%.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// On average.
    pub mean: f64,
    /// Half of them took no longer.
    pub p50: f64,
    /// Nine in ten.
    pub p90: f64,
    /// 99 in a hundred.
    pub p99: f64,
    /// 999 in a thousand.
    pub p999: f64,
    /// None took longer.
    pub max: f64,
}

impl StageFrame {
    /// What it did most: working before blocked, and blocked before starved, where the shares are the same.
    #[must_use]
    pub fn mostly(&self) -> State {
        if self.working >= self.starved && self.working >= self.blocked {
            State::Working
        } else if self.blocked >= self.starved {
            State::Blocked
        } else {
            State::Starved
        }
    }
}

impl Frame {
    /// A stage by its name.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageFrame> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}
