//! Which stage holds a run back, and what would change that.
//!
//! By the operational laws (Denning and Buzen, 1978): how busy something is is its throughput times its service time, and
//! what is busiest is what limits. Of a run's stages both are measured, so its time is modelled as the greatest load of
//! anything that does one thing at a time, a tasklet, a worker or the source, and a forecast is the same model with one more
//! worker or shard in it.

use crate::placement::least_greatest;
use std::fmt;

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
pub enum Scales {
    /// `shard` does it: whoever is free takes the next numbers.
    Shard,
    /// `shard_by` does it, by key.
    Keys,
    /// It works on one number after the other: it keeps a state of all numbers, is in a loop, or numbers afresh.
    State,
    /// It is the source or a sink.
    #[default]
    End,
}

/// What holds a run back.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Bottleneck {
    /// The stage that is to blame, by its name in the plan; `source` and `sink` are the ends.
    pub stage: String,
    /// What of it is busy.
    pub limit: Limit,
    /// What share of the time that is busy: 1 at most, apart from errors of measurement.
    pub utilisation: f64,
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
pub enum Limit {
    /// The stage's tasklets.
    Tasklets,
    /// One of the stage's tasklets much more than the others: some keys come more often than others.
    Skew,
    /// The workers, whatever runs on them; the stage takes the most of their time.
    Workers,
    /// What is outside: the source's iterator, or whoever sends.
    Source,
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
    /// How many times as fast the run would be.
    pub factor: f64,
    /// What would limit it then.
    pub next: String,
}

/// Less is not worth a change.
const WORTH: f64 = 1.05;
/// A tasklet that has so many times its share is one of some that keys are dealt to unevenly.
const SKEWED: f64 = 1.5;
/// Where nothing is busy for so much of the time, what is outside is too slow.
const BUSY: f64 = 0.5;

/// What a run is modelled to take, and what limits it.
struct Model {
    seconds: f64,
    stage: usize,
    limit: Limit,
}

impl Load {
    fn total(&self) -> f64 {
        self.busy.iter().sum()
    }

    /// The load of its busiest tasklet, with so many tasklets more that share evenly what can be shared.
    fn greatest(&self, more: usize, workers: usize) -> f64 {
        if let Some(open) = self.open {
            return open;
        }
        let count = self.busy.len() + more;
        let at_once = if self.own_thread { count } else { count.min(workers) };
        let even = self.total() / at_once.max(1) as f64;
        match self.scales {
            Scales::Shard => even,
            _ => self.busy.iter().copied().fold(0.0, f64::max) * (self.busy.len() as f64 / count.max(1) as f64),
        }
    }

    /// Whether keys are dealt to its tasklets unevenly.
    fn is_skewed(&self) -> bool {
        let greatest = self.busy.iter().copied().fold(0.0, f64::max);
        self.scales == Scales::Keys && greatest * self.busy.len() as f64 > SKEWED * self.total()
    }
}

impl Loads {
    /// What holds the run back; none if nothing was done.
    #[must_use]
    pub fn bottleneck(&self) -> Option<Bottleneck> {
        let model = self.model(None)?;
        // Something has to be busy: if it is nobody that was timed, it is what nobody has timed.
        let outside = self.stages.iter().position(|load| load.open.is_some());
        let (stage, limit, seconds) = match outside {
            Some(source) if model.seconds < BUSY * self.seconds && self.stages[source].open > Some(model.seconds) => {
                (source, Limit::Source, self.stages[source].open.unwrap_or(0.0))
            }
            _ => (model.stage, model.limit, model.seconds),
        };
        let load = &self.stages[stage];
        let (numbers, total) = (load.numbers as f64, load.total());
        let mut found = Bottleneck {
            stage: load.stage.clone(),
            limit,
            utilisation: if self.seconds > 0.0 { seconds / self.seconds } else { 0.0 },
            service_ns: (load.numbers > 0 && load.open.is_none()).then(|| total * 1e9 / numbers),
            rate: if self.seconds > 0.0 { numbers / self.seconds } else { 0.0 },
            gains: if limit == Limit::Source { Vec::new() } else { self.gains(stage, model.seconds) },
            sentence: String::new(),
        };
        found.sentence =
            Sentence { found: &found, load, workers: self.workers, crowded: self.workers >= self.cores }.to_string();
        Some(found)
    }

    /// For how many seconds a source had room that nobody has looked at: all the time if nothing behind it was busy, and
    /// otherwise nobody knows.
    pub(crate) fn guessed_open(&self) -> f64 {
        let idle = self.model(None).is_none_or(|model| model.seconds < BUSY * self.seconds);
        if idle { self.seconds } else { 0.0 }
    }

    /// The changes that would help, the least first.
    fn gains(&self, stage: usize, seconds: f64) -> Vec<Gain> {
        let load = &self.stages[stage];
        let can_shard = load.scales == Scales::Shard || load.scales == Scales::Keys && !load.is_skewed();
        let mut best = WORTH;
        let changes = [(1, 0), (0, 1), (1, 1)].into_iter().filter(|(workers, shards)| {
            (*workers == 0 || self.workers > 0 && self.workers < self.cores) && (*shards == 0 || can_shard)
        });
        changes
            .filter_map(|(workers, shards)| {
                let after = self.model(Some((workers, stage, shards)))?;
                let factor = seconds / after.seconds;
                (factor >= best).then(|| {
                    best = factor * WORTH;
                    Gain { workers, shards, factor, next: self.stages[after.stage].stage.clone() }
                })
            })
            .collect()
    }

    /// What the run is modelled to take, with so many workers and shards of a stage more.
    fn model(&self, change: Option<(usize, usize, usize)>) -> Option<Model> {
        let (more_workers, changed, more_shards) = change.unwrap_or((0, 0, 0));
        let workers = (self.workers + more_workers).max(1);
        let more = |stage: usize| if stage == changed { more_shards } else { 0 };
        let loads = self.stages.iter().enumerate().filter(|(_, load)| load.open.is_none() || change.is_some());
        let (stage, seconds) = loads
            .map(|(stage, load)| (stage, load.greatest(more(stage), workers)))
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .filter(|(_, seconds)| *seconds > 0.0)?;
        let limit = if self.stages[stage].is_skewed() { Limit::Skew } else { Limit::Tasklets };
        let shared = self.stages.iter().enumerate().filter(|(_, load)| !load.own_thread && load.open.is_none());
        let seats: Vec<f64> = shared
            .clone()
            .flat_map(|(stage, load)| {
                let count = load.busy.len() + more(stage);
                std::iter::repeat_n(load.total() / count.max(1) as f64, count)
            })
            .collect();
        let of_workers = least_greatest(&seats, workers);
        // A worker with one stage alone is no more than that stage.
        if of_workers <= seconds * 1.01 {
            return Some(Model { seconds, stage, limit });
        }
        let heaviest = shared.max_by(|a, b| a.1.total().total_cmp(&b.1.total()))?.0;
        Some(Model { seconds: of_workers, stage: heaviest, limit: Limit::Workers })
    }
}

/// The words for a bottleneck.
struct Sentence<'a> {
    found: &'a Bottleneck,
    load: &'a Load,
    workers: usize,
    /// Whether there is a worker for every core.
    crowded: bool,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sentence { found, load, workers, .. } = self;
        let Bottleneck { stage, rate, .. } = found;
        let share = format!("{:.0}%", (found.utilisation * 100.0).min(100.0));
        let cost = found.service_ns.map_or_else(String::new, |ns| format!("{} a number times ", Time(ns)));
        match found.limit {
            Limit::Source => {
                return write!(
                    f,
                    "The source holds the run back: it gave {} numbers a second, and nothing behind it is busy for most of \
                     the time. Neither a worker nor a shard would help.",
                    Count(*rate)
                );
            }
            Limit::Workers => {
                let whole =
                    if *workers == 1 { "The one worker is".to_owned() } else { format!("The {workers} workers are") };
                write!(
                    f,
                    "{whole} busy {share} of the time, most of it with `{stage}`: {cost}{} a second.",
                    Count(*rate)
                )?;
            }
            Limit::Tasklets | Limit::Skew => {
                write!(f, "`{stage}` holds the run back: {cost}{} a second keep ", Count(*rate))?;
                match (load.busy.len(), found.limit) {
                    (1, _) => write!(f, "it busy {share} of the time.")?,
                    (n, Limit::Skew) => write!(
                        f,
                        "one of its {n} shards busy {share} of the time, and the others less: its keys are dealt unevenly."
                    )?,
                    (n, _) => write!(f, "its {n} shards busy {share} of the time.")?,
                }
            }
        }
        found.gains.iter().try_for_each(|gain| gain.tell(f))?;
        if found.gains.is_empty() {
            f.write_str(match (load.scales, found.limit) {
                (_, Limit::Workers) if self.crowded => " No core is left for another worker.",
                (Scales::State, _) => " It works on one number after the other, since it keeps a state, is in a loop, or numbers afresh: no shard would \
                     help, but `shard_by` would if its state is one a key.",
                (Scales::Keys, Limit::Skew) => " More shards would not help: what comes most often stays with one of them.",
                (Scales::End, _) => " It is an end of the pipeline, which one tasklet runs: make its closure do less.",
                _ => " One more worker or shard would not help.",
            })?;
        }
        Ok(())
    }
}

impl Gain {
    fn tell(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.workers, self.shards) {
            (0, _) => "One more shard",
            (_, 0) => "One more worker",
            _ => "One more worker and one more shard",
        };
        write!(f, " {what} would make it {:.2} times as fast; then `{}` would limit.", self.factor, self.next)
    }
}

/// Nanoseconds for people.
struct Time(f64);

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            ns if ns < 1e3 => write!(f, "{ns:.1} ns"),
            ns if ns < 1e6 => write!(f, "{:.1} us", ns / 1e3),
            ns if ns < 1e9 => write!(f, "{:.1} ms", ns / 1e6),
            ns => write!(f, "{:.1} s", ns / 1e9),
        }
    }
}

/// A number of numbers for people.
struct Count(f64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            n if n < 10.0 => write!(f, "{n:.1}"),
            n if n < 1e4 => write!(f, "{n:.0}"),
            n if n < 1e6 => write!(f, "{:.1} thousand", n / 1e3),
            n => write!(f, "{:.1} million", n / 1e6),
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
