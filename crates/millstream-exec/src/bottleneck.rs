//! Which stage holds a run back, and what would change that.
//!
//! By the operational laws (Denning and Buzen, 1978), the utilisation of a resource is its throughput times its service
//! time, and the busiest resource is the limit. Both factors are measured for the stages of a run. A tasklet, a worker
//! and the source each do one thing at a time. In the model a run takes as long as the greatest load of any of them,
//! and a forecast is the same model with one more worker or shard. The tests make that change and compare.
//!
//! The measurement of a trial overrides the model. If nothing is busy for half of the time, no stage is to blame. The
//! kernel's account of each thread (`machine/account.rs`) shows whether workers wait for a core, and whether a stage
//! computes or waits.

mod model;
mod sentence;

use crate::Rate;

/// The load of each part of a run over some time.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Loads {
    /// The stages in pipeline order, source and sink included.
    pub stages: Vec<Load>,
    /// The number of workers.
    pub workers: usize,
    /// The number of cores they could use.
    pub cores: usize,
    /// The length of the time, in seconds.
    pub seconds: f64,
    /// How the workers' threads spent the time; none if the system does not report it.
    pub threads: Option<ThreadTimes>,
    /// The rate with each number of workers that was tried.
    pub rates: Vec<Rate>,
}

/// How the threads of a run's workers spent their time, summed up, in seconds. The rest of the time they waited for
/// something other than a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ThreadTimes {
    /// They ran on a core.
    pub ran: f64,
    /// They could have run, and waited for a core that another thread had.
    pub waited: f64,
}

/// The load of a stage.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Load {
    /// Its name.
    pub stage: String,
    /// The seconds for which each of its tasklets was busy: the cost of a number times the numbers it moved.
    pub busy: Vec<f64>,
    /// The numbers that its tasklets moved together. In a stage with keys, every tasklet passes over all numbers.
    pub numbers: u64,
    /// Whether every tasklet has a thread of its own.
    pub own_thread: bool,
    /// How its work can be shared.
    pub scales: Scales,
    /// How many stages before it are [fused](crate::StageReport::fused_into) into it: their time is part of its own.
    pub fused: usize,
    /// For a source with a thread of its own, which is not timed: the seconds for which its ring had room.
    pub open: Option<f64>,
}

/// Whether more tasklets can share a stage's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Scales {
    /// By `shard`: a free tasklet takes the next numbers.
    Shard,
    /// By `shard_by`: each tasklet has its keys.
    Keys,
    /// It keeps one state over all numbers and processes one at a time; `shard_by` helps if it has one state a key.
    State,
    /// It processes one number at a time whatever its state: it is in a loop, renumbers, or distributes keys.
    Sequence,
    /// It is the source or a sink.
    #[default]
    End,
}

/// The part that holds a run back.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bottleneck {
    /// The stage responsible, by its name in the plan; `source` and `sink` are the ends. If no stage is responsible, as
    /// with [`Limit::Cores`] and [`Limit::Handover`], the busiest one.
    pub stage: String,
    /// The part of it that is busy.
    pub limit: Limit,
    /// The share of the time for which that is busy: at most 1, apart from errors of measurement.
    pub utilisation: f64,
    /// Whether its function spends most of that time waiting rather than computing: for a disk, a network, the reader
    /// of its output. For a stage on the workers, known only if the system reports thread times.
    #[cfg_attr(feature = "serde", serde(default))]
    pub waits: bool,
    /// The share of their time for which the workers waited for a core that another thread had; none if the system does
    /// not report it.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delayed: Option<f64>,
    /// The cost of a number in nanoseconds; none if it was not timed.
    pub service_ns: Option<f64>,
    /// The numbers it moved a second.
    pub rate: f64,
    /// Changes that would help, the smallest first.
    pub gains: Vec<Gain>,
    /// The whole of it in a sentence or two.
    pub sentence: String,
}

/// The part that is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Limit {
    /// The stage's tasklets.
    Tasklets,
    /// One of the stage's tasklets, much more than the others: some keys are more frequent than others.
    Skew,
    /// The workers; the stage takes the most of their time.
    Workers,
    /// The source's iterator, or the senders.
    Source,
    /// The machine's cores, which other threads use: the workers could go on and waited for a core.
    Cores,
    /// Nothing: the run's threads wait for each other, or for the program that reads the output.
    Handover,
}

/// The effect of a change.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Gain {
    /// The number of additional workers.
    pub workers: usize,
    /// The number of additional shards of the stage.
    pub shards: usize,
    /// The factor by which the run would get faster: [at most](Gain::at_most), or by measurement.
    pub factor: f64,
    /// Whether the factor is an upper bound. For stages that compute, the cost of hand-overs between two cores and of
    /// shared memory is unknown. A measured trial, and more tasklets of a stage that waits, are not bounds.
    #[cfg_attr(feature = "serde", serde(default))]
    pub at_most: bool,
    /// The stage that would limit the run then.
    pub next: String,
}

/// If nothing is busy for this share of the time, something else limits.
const BUSY: f64 = 0.5;
/// Other threads use the cores if the workers wait for a core for this share of their time.
const DELAYED: f64 = 0.1;

impl Load {
    fn total(&self) -> f64 {
        self.busy.iter().sum()
    }
}

impl Loads {
    /// The part that holds the run back; `None` if nothing was done.
    #[must_use]
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        let model = self.model(None)?;
        let (stage, limit, seconds) = self.blamed(&model);
        let load = &self.stages[stage];
        let (numbers, total) = (load.numbers as f64, load.total());
        let of_time = |seconds: f64| if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 };
        let gains = match limit {
            Limit::Source | Limit::Cores | Limit::Handover => Vec::new(),
            _ => self.gains(stage, model.seconds),
        };
        let mut found = Bottleneck {
            stage: load.stage.clone(),
            limit,
            utilisation: of_time(seconds),
            waits: self.waits(load),
            delayed: self.delayed(),
            service_ns: (load.numbers > 0 && load.open.is_none()).then(|| total * 1e9 / numbers),
            rate: of_time(1.0) * numbers,
            gains,
            sentence: String::new(),
        };
        found.sentence = sentence::of(&found, load, self);
        Some(found)
    }

    /// The stage responsible, the part of it that is busy, and for how many seconds.
    fn blamed(&self, model: &model::Model) -> (usize, Limit, f64) {
        let (stage, seconds) = (model.stage, model.seconds);
        let idle = |seconds: f64| seconds < BUSY * self.seconds;
        // A step takes longer if its thread has to wait for a core meanwhile; the stage is not responsible for that.
        let delayed = self.delayed().filter(|_| !self.stages[stage].own_thread).unwrap_or(0.0);
        if delayed >= DELAYED && idle(seconds - delayed * self.seconds) {
            return (stage, Limit::Cores, seconds);
        }
        // Something must be busy: if none of the timed stages is, it is the untimed source.
        match self.stages.iter().enumerate().find_map(|(source, load)| Some((source, load.open?))) {
            Some((source, open)) if idle(seconds) && open > seconds => (source, Limit::Source, open),
            _ if idle(seconds) => (stage, Limit::Handover, seconds),
            _ => (stage, model.limit, seconds),
        }
    }

    /// The share of their time for which the workers waited for a core; none if the system does not report it.
    fn delayed(&self) -> Option<f64> {
        let time = self.seconds * self.workers.max(1) as f64;
        self.threads.filter(|_| time > 0.0).map(|threads| (threads.waited / time).min(1.0))
    }

    /// Whether a stage on the workers waits in its function for most of its time. It does if most of its time remains
    /// even after all computation of the workers is attributed to it.
    fn waits(&self, load: &Load) -> bool {
        let total = load.total();
        let left = self.threads.map_or(0.0, |threads| total - threads.ran - threads.waited);
        !load.own_thread && left > BUSY * total
    }

    /// The measured rate with this number of workers, relative to the present one; `None` unless both were tried.
    fn measured(&self, workers: usize) -> Option<f64> {
        let rate = |workers| self.rates.iter().find(|rate| rate.workers == workers).map(|rate| rate.numbers_per_second);
        Some(rate(workers)? / rate(self.workers).filter(|rate| *rate > 0.0)?)
    }

    /// An estimate of the seconds for which a source had room, if that was not observed: all the time if no stage was
    /// busy, otherwise 0.
    pub(crate) fn guessed_open(&self) -> f64 {
        let idle = self.model(None).is_none_or(|model| model.seconds < BUSY * self.seconds);
        if idle { self.seconds } else { 0.0 }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
