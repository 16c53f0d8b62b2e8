use crate::Cores;
use millstream_core::SequenceNumber;
use std::time::Duration;

/// What a run did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Report {
    /// How it ended.
    pub ending: Ending,
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
    /// What every tasklet did, in pipeline order.
    pub stages: Vec<StageReport>,
    /// How many workers there were and why, in the order in which it was decided.
    pub decisions: Vec<String>,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Ending {
    /// The source ended.
    End,
    /// It was drained: the source was ended, and everything accepted was finished.
    Drained,
    /// It was stopped: something may be left.
    Stopped,
    /// It failed.
    Failed,
}

/// What one tasklet did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct StageReport {
    /// Its stage's name in the plan; `source` and `sink` are the ends.
    pub name: String,
    /// Numbers it moved. END counts, apart from a shard's.
    pub moved: u64,
    /// Numbers of its input that it has not worked on.
    pub left: u64,
    /// What a number cost on average, in nanoseconds, by the steps that were timed.
    pub ns_per_number: Option<f64>,
    /// How long the longest of the steps that were timed took: those of the first rounds, of one round in sixteen, and
    /// of those behind a round that took over a millisecond. A step of a stage that does not block should be short: other stages wait.
    pub longest_step: Duration,
    /// Whether it had a thread of its own.
    pub blocking: bool,
}

impl Report {
    /// The stages that share workers and had a step longer than `budget`, and by how much.
    pub fn overruns(&self, budget: Duration) -> impl Iterator<Item = (&str, Duration)> {
        let shared = self.stages.iter().filter(|stage| !stage.blocking);
        shared.filter_map(move |stage| Some((&*stage.name, stage.longest_step.checked_sub(budget)?)))
    }
}
