//! The state of a run in a short time, as plain data.

use millstream_exec::{Bottleneck, ChangeReport, State};
use serde::{Deserialize, Serialize};
#[cfg(any(feature = "page", feature = "otlp"))]
use std::collections::HashSet;

/// The events in a run since the previous frame, and its counters up to then.
///
/// Times are in seconds unless the name says otherwise, and shares are from 0 to 1. END counts as a number, so a ring
/// of a run that has ended has counted one number more than its clock is long. The names and kinds of stages and rings
/// are in the [`Graph`](crate::Graph), in the same order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Frame {
    /// The frame's index in the run, from 0.
    pub number: u64,
    /// The time of the frame, since the start of the run.
    pub at: f64,
    /// The length of the frame: the time since the previous one.
    pub span: f64,
    /// The number of samples in that time.
    pub looks: u64,
    /// Whether the run goes on. It is false in the last frame of a run. A run that has failed or was stopped goes on
    /// until the steps under way have ended.
    pub running: bool,
    /// The version of the pipeline that the frame is of: 1, or one more for each change before.
    #[serde(default)]
    pub version: u32,
    /// The change by which this version of the pipeline began; none of the first one.
    #[serde(default)]
    pub change: Option<Change>,
    /// The rings, as in the plan.
    pub rings: Vec<RingFrame>,
    /// The source, the stages as in the plan, the sink.
    pub stages: Vec<StageFrame>,
    /// Side outputs, in pipeline order: the sinks of dead letters, named after their stages with the suffix
    /// `.dead-letters`, and the named sinks of `tee_to`.
    pub side_outputs: Vec<StageFrame>,
    /// The workers.
    pub workers: Vec<WorkerFrame>,
    /// The latency from the source to the sink, since the watch began.
    pub latency: Option<Latency>,
    /// The stage or end that limits the run, judged by the last two seconds, or by this frame if it is longer. If a
    /// stage was within one step all that time, or the source between two bursts, it is judged by up to ten seconds;
    /// there is none as long as a stage has not ended its first step.
    pub bottleneck: Option<Bottleneck>,
    /// The stages whose function has not returned for two seconds or more.
    pub stuck: Vec<Stuck>,
}

/// A change of the pipeline while it ran.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Change {
    /// The version since then.
    pub version: u32,
    /// The first number that went through it.
    pub at: u64,
    /// How many states went from a tasklet of the old version to one of the new version.
    pub states_moved: u64,
    /// The outcome of each stage, as `upgrade --check` reports it, a line each.
    pub stages: String,
    /// The seconds for which each stage of the old version took nothing.
    pub pauses: Vec<(String, f64)>,
    /// The change as a sentence.
    pub sentence: String,
}

impl Change {
    pub(crate) fn of(report: &ChangeReport) -> Self {
        let pauses = report.pauses.iter().map(|stage| (stage.stage.clone(), stage.pause.as_secs_f64()));
        Change {
            version: report.version,
            at: report.at.0,
            states_moved: report.states_moved as u64,
            stages: report.stages.to_string(),
            pauses: pauses.collect(),
            sentence: report.to_string(),
        }
    }
}

/// A stage that has been in one step for long: its function waits for something, or does not end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Stuck {
    /// Its name, or that of a side output. Of stages that one worker fuses, the last one's: it may be any of them.
    pub stage: String,
    /// The least number that it has not released. Its function is at this number, or at a later one if a step takes
    /// several.
    pub number: u64,
    /// The seconds for which it has moved nothing.
    pub seconds: f64,
    /// The same as a sentence.
    pub sentence: String,
}

/// A ring.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RingFrame {
    /// The count of published numbers.
    pub produced: u64,
    /// The count of numbers that each reader has released.
    pub consumed: Vec<u64>,
    /// The number of slots.
    pub capacity: u64,
    /// The number of slots in use when the frame was made.
    pub occupied: u64,
    /// The mean share of slots in use. It is near 1 if the reader is slower than the writer.
    pub occupancy: f64,
    /// The share of samples in which the ring was full.
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
    /// The numbers moved, summed over its tasklets. In the body of a `shard_by` each tasklet passes every number, and
    /// counts it. After an [upgrade](millstream_exec::Handle::upgrade) this and the other counts begin at 0, except
    /// those of the source, which go on.
    pub moved: u64,
    /// The numbers moved in a second.
    pub rate: f64,
    /// The numbers moved in a second, over the time by which the [bottleneck](Frame::bottleneck) is judged, for people:
    /// a frame between two bursts has moved nothing. `None` in frames of a version that did not have it.
    #[serde(default)]
    pub recent_rate: Option<f64>,
    /// The rows that have come to it, if its values hold several each and the program
    /// [counts](crate::Watch::count_rows) them.
    #[serde(default)]
    pub rows: Option<u64>,
    /// Those rows in a second.
    #[serde(default)]
    pub row_rate: Option<f64>,
    /// The same over the time of [`recent_rate`](StageFrame::recent_rate).
    #[serde(default)]
    pub recent_row_rate: Option<f64>,
    /// The steps that moved the numbers, which are batches.
    pub batches: u64,
    /// The number of steps that moved 1, 2 to 3, 4 to 7, ... numbers.
    pub batch_sizes: Vec<u64>,
    /// The mean nanoseconds for a number, by the timed steps of this frame; if there are none, by all steps since the
    /// start.
    pub service_ns: Option<f64>,
    /// The service time multiplied by the rate, divided by the number of tasklets.
    pub utilisation: Option<f64>,
    /// The share of samples in which it had input and room. It was at work then, or waited for its worker. A source may
    /// have waited for its own input.
    pub working: f64,
    /// The share of samples in which it waited for input, or had ended. The three shares sum to 1.
    pub starved: f64,
    /// The share of samples in which it waited for room.
    pub blocked: f64,
    /// Whether all of its tasklets have ended.
    pub done: bool,
    /// The bytes of the states of its keys, over all its tasklets, without what keys and states own elsewhere; `None`
    /// if it has no keys.
    #[serde(default)]
    pub state_bytes: Option<u64>,
    /// The calls of its function, and the futures it returned, that ended with an error.
    pub failures: u64,
    /// The number of retries.
    pub retries: u64,
    /// The values that were parked because an earlier value of their key had failed.
    pub parked: u64,
    /// The stage in whose loop it runs, if one worker [fuses](millstream_exec::Rings::workers) it with that one. The
    /// time of the loop is one figure, and counts for that stage.
    #[serde(default)]
    pub fused_into: Option<String>,
    /// The share of empty slots in its output, including those that were empty in its input. It is measured in sampled
    /// batches of this frame; if there are none, in all sampled batches since the start. It is exactly 0 if the stage's
    /// type leaves no slot empty, and `None` for a sink and before the first sample.
    pub empties: Option<f64>,
    /// The time from when a number was ready for it until it had published its output, since the watch began.
    pub latency: Option<Latency>,
}

/// A worker, as shares of the samples, which sum to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct WorkerFrame {
    /// The worker moved something.
    pub busy: f64,
    /// The worker moved nothing, and looked for work.
    pub idle: f64,
    /// The worker slept.
    pub parked: f64,
}

/// The latency of the numbers with a latency marker, up to a thousand a second. Values are exact to 1%.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Latency {
    /// The count of markers.
    pub count: u64,
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: f64,
    /// The 90th percentile.
    pub p90: f64,
    /// The 99th percentile.
    pub p99: f64,
    /// The 99.9th percentile.
    pub p999: f64,
    /// The maximum.
    pub max: f64,
}

impl StageFrame {
    /// Its most frequent state. For equal shares, working comes before blocked, and blocked before starved.
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

    /// The names of the stages and of the side outputs in metrics, which have one sample for a name: one whose name an
    /// end or an earlier one has gets another.
    #[cfg(any(feature = "page", feature = "otlp"))]
    pub(crate) fn labels(&self) -> [Vec<String>; 2] {
        let names = || self.stages.iter().chain(&self.side_outputs).map(|stage| &*stage.name);
        let last = self.stages.len().saturating_sub(1);
        let is_end = |index: usize| index == 0 || index == last;
        let all: HashSet<_> = names().collect();
        let mut taken: HashSet<String> =
            names().enumerate().filter(|(index, _)| is_end(*index)).map(|(_, name)| name.to_owned()).collect();
        let label = |(index, name): (usize, &str)| {
            if is_end(index) || taken.insert(name.to_owned()) {
                return name.to_owned();
            }
            let mut others = (2_u64..).map(|times| format!("{name}-{times}"));
            let is_free = |other: &String| !all.contains(&**other) && taken.insert(other.clone());
            others.find(is_free).expect("there are more names than stages")
        };
        let mut stages: Vec<_> = names().enumerate().map(label).collect();
        let side_outputs = stages.split_off(self.stages.len());
        [stages, side_outputs]
    }
}
