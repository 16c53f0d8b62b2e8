//! Which stage holds a run back, and what would change that.
//!
//! By the operational laws (Denning and Buzen, 1978): the utilisation of something is its throughput times its service
//! time, and what is busiest is the limit. Both are measured for the stages of a run. So a run is modelled to take as
//! long as the greatest load of anything that does one thing at a time, a tasklet, a worker or the source, and a
//! forecast is the same model with one more worker or shard in it. The tests make that change and compare.
//!
//! What a trial measured overrides the model. Where nothing is busy for half of the time, no stage is to blame. The
//! kernel's account of each thread (`machine/account.rs`) tells whether workers wait for a core, and whether a stage
//! computes or waits.

mod model;
mod sentence;

use crate::report::Rate;

/// What each part of a run had to do in some time.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Loads {
    /// The stages in pipeline order, source and sink among them.
    pub stages: Vec<Load>,
    /// How many workers there were.
    pub workers: usize,
    /// How many cores they could use.
    pub cores: usize,
    /// How many seconds it took.
    pub seconds: f64,
    /// What the workers' threads did with their time, where the system tells.
    pub threads: Option<ThreadTimes>,
    /// How fast it was with each number of workers that was tried.
    pub rates: Vec<Rate>,
}

/// What the threads of a run's workers did with their time, together, in seconds. The rest of it they waited for something
/// else than a core.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ThreadTimes {
    /// They ran on a core.
    pub ran: f64,
    /// They could have run, and waited for a core that another thread had.
    pub waited: f64,
}

/// What a stage had to do.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Load {
    /// Its name.
    pub stage: String,
    /// How many seconds each of its tasklets was busy, by what a number cost times how many it moved.
    pub busy: Vec<f64>,
    /// How many numbers they moved together; of a stage with keys every tasklet passes over all of them.
    pub numbers: u64,
    /// Whether every tasklet has a thread of its own.
    pub own_thread: bool,
    /// What can be done about it.
    pub scales: Scales,
    /// Of a source with a thread of its own, which nobody times: for how many seconds its ring had room.
    pub open: Option<f64>,
}

/// Whether more tasklets can share a stage's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Scales {
    /// `shard` does it: whoever is free takes the next numbers.
    Shard,
    /// `shard_by` does it, by key.
    Keys,
    /// It keeps a state of all numbers, and works on one after the other; `shard_by` does it if the state is one a key.
    State,
    /// It works on one number after the other, whatever its state is: it is in a loop, numbers afresh, or deals out keys.
    Sequence,
    /// It is the source or a sink.
    #[default]
    End,
}

/// What holds a run back.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bottleneck {
    /// The stage that is to blame, by its name in the plan; `source` and `sink` are the ends. The busiest one where none is to
    /// blame: with [`Limit::Cores`] and [`Limit::Handover`].
    pub stage: String,
    /// What of it is busy.
    pub limit: Limit,
    /// What share of the time that is busy: 1 at most, apart from errors of measurement.
    pub utilisation: f64,
    /// Whether its function waits for most of that time, and does not compute: for a disk, a network, the reader of its output.
    /// Of a stage on the workers, where the system tells.
    #[cfg_attr(feature = "serde", serde(default))]
    pub waits: bool,
    /// What share of their time the workers waited for a core that another thread had, where the system tells.
    #[cfg_attr(feature = "serde", serde(default))]
    pub delayed: Option<f64>,
    /// Nanoseconds a number costs the stage, where that was timed.
    pub service_ns: Option<f64>,
    /// Numbers a second it moved.
    pub rate: f64,
    /// What would help, the least change first.
    pub gains: Vec<Gain>,
    /// The whole of it in a sentence or two.
    pub sentence: String,
}

/// What is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
#[non_exhaustive]
pub enum Limit {
    /// The stage's tasklets.
    Tasklets,
    /// One of the stage's tasklets much more than the others: some keys come more often than others.
    Skew,
    /// The workers, whatever runs on them; the stage takes the most of their time.
    Workers,
    /// What is outside: the source's iterator, or whoever sends.
    Source,
    /// The machine's cores, with something else: the workers could go on and waited for a core.
    Cores,
    /// Nothing: the run's threads wait for each other, or for the program that reads the output.
    Handover,
}

/// What a change would bring.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Gain {
    /// How many workers more.
    pub workers: usize,
    /// How many shards of the stage more.
    pub shards: usize,
    /// How many times as fast the run would be; [at most](Gain::at_most), or by a measurement.
    pub factor: f64,
    /// Whether the factor is the most that can be: of what computes it is not known what hand-overs between two cores and their
    /// common memory will take of it. A trial of so many workers, or more tasklets of a stage that waits, are not bounds.
    #[cfg_attr(feature = "serde", serde(default))]
    pub at_most: bool,
    /// What would limit it then.
    pub next: String,
}

/// Where nothing is busy for so much of the time, something else limits.
const BUSY: f64 = 0.5;
/// The workers wait for a core for so much of their time: others use the cores.
const DELAYED: f64 = 0.1;

impl Load {
    fn total(&self) -> f64 {
        self.busy.iter().sum()
    }
}

impl Loads {
    /// What holds the run back; none if nothing was done.
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

    /// Which stage is to blame, what of it is busy, and for how many seconds.
    fn blamed(&self, model: &model::Model) -> (usize, Limit, f64) {
        let (stage, seconds) = (model.stage, model.seconds);
        let idle = |seconds: f64| seconds < BUSY * self.seconds;
        // A step takes longer if its thread has to wait for a core meanwhile: that is not the stage's doing.
        let delayed = self.delayed().filter(|_| !self.stages[stage].own_thread).unwrap_or(0.0);
        if delayed >= DELAYED && idle(seconds - delayed * self.seconds) {
            return (stage, Limit::Cores, seconds);
        }
        // Something has to be busy: if it is nobody that was timed, it is what nobody has timed.
        match self.stages.iter().enumerate().find_map(|(source, load)| Some((source, load.open?))) {
            Some((source, open)) if idle(seconds) && open > seconds => (source, Limit::Source, open),
            _ if idle(seconds) => (stage, Limit::Handover, seconds),
            _ => (stage, model.limit, seconds),
        }
    }

    /// The share of their time that the workers waited for a core, where the system tells.
    fn delayed(&self) -> Option<f64> {
        let time = self.seconds * self.workers.max(1) as f64;
        self.threads.filter(|_| time > 0.0).map(|threads| (threads.waited / time).min(1.0))
    }

    /// Whether a stage on the workers waits in its function for most of the time that it takes: even if all that they computed
    /// was its work, so much is left.
    fn waits(&self, load: &Load) -> bool {
        let total = load.total();
        let left = self.threads.map_or(0.0, |threads| total - threads.ran - threads.waited);
        !load.own_thread && left > BUSY * total
    }

    /// How many times as fast the run was with so many workers as with those that it has, where both were tried.
    fn measured(&self, workers: usize) -> Option<f64> {
        let rate = |workers| self.rates.iter().find(|rate| rate.workers == workers).map(|rate| rate.numbers_per_second);
        Some(rate(workers)? / rate(self.workers).filter(|rate| *rate > 0.0)?)
    }

    /// For how many seconds a source had room that nobody has looked at: all the time if nothing behind it was busy, and
    /// otherwise nobody knows.
    pub(crate) fn guessed_open(&self) -> f64 {
        let idle = self.model(None).is_none_or(|model| model.seconds < BUSY * self.seconds);
        if idle { self.seconds } else { 0.0 }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
