//! The words for a bottleneck. They claim no more than its figures.

use super::{Bottleneck, DELAYED, Gain, Limit, Load, Loads, Scales};
use std::fmt;

/// The finding, in a sentence or two.
pub(super) fn of(found: &Bottleneck, load: &Load, loads: &Loads) -> String {
    Sentence { found, load, loads }.to_string()
}

/// From this many values a second on, handing them over one by one is a cost.
const OFTEN: f64 = 2e6;

struct Sentence<'a> {
    found: &'a Bottleneck,
    load: &'a Load,
    loads: &'a Loads,
}

impl fmt::Display for Sentence<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found;
        match found.limit {
            Limit::Source => {
                write!(
                    f,
                    "The source holds the run back: it yields {} numbers a second, and nothing downstream is busy for \
                     most of the time. Neither a worker nor a shard would help.",
                    Count(found.rate)
                )?;
                if found.rate >= OFTEN {
                    f.write_str(
                        " Its thread hands over each value at once, which costs about as much as the value. If it is \
                         an iterator that never waits for long, such as one over a file, mark it with \
                         `source::ready`: a worker then takes values in batches.",
                    )?;
                }
                return Ok(());
            }
            Limit::Cores => return self.write_cores(f),
            Limit::Handover => return self.write_handover(f),
            Limit::Workers => self.write_workers(f)?,
            Limit::Tasklets | Limit::Skew => self.write_stage(f)?,
        }
        if let Some(delayed) = found.delayed.filter(|delayed| *delayed >= DELAYED) {
            write!(f, " The workers waited {} of their time for a core that others had.", Percent(delayed))?;
        }
        if found.waits && matches!(self.load.scales, Scales::Shard | Scales::Keys) {
            // More tasklets on the workers would take as many workers, which wait.
            return f.write_str(
                " Its function waits rather than computes: `map_blocking` gives it a thread of its own, and in a \
                 `shard` each of its tasklets, so that they wait side by side without a worker for each.",
            );
        }
        found.gains.iter().try_for_each(|gain| gain.write(f))?;
        if found.gains.is_empty() { self.write_why_nothing_helps(f) } else { Ok(()) }
    }
}

impl Sentence<'_> {
    /// `12 ns a number times 3 million a second`.
    fn work(&self) -> String {
        let cost = self.found.service_ns.map_or_else(String::new, |ns| format!("{} a number times ", Time(ns)));
        format!("{cost}{} a second", Count(self.found.rate))
    }

    fn write_cores(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bottleneck { stage, delayed, .. } = self.found;
        write!(
            f,
            "Other threads on this machine hold the run back: the workers waited {} of their time for a core that \
             others had. The busiest stage is `{stage}`: {}. Neither a worker nor a shard would help.",
            Percent(delayed.unwrap_or(0.0)),
            self.work()
        )
    }

    fn write_handover(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bottleneck { stage, utilisation, .. } = self.found;
        write!(
            f,
            "No stage holds the run back: the busiest is `{stage}`, for {} of the time, {}. The rest of the time its \
             threads wait for each other, or for the reader of its output.",
            Percent(*utilisation),
            self.work()
        )?;
        self.write_trials(f)?;
        match self.loads.workers {
            2.. => f.write_str(" Larger rings or fewer workers need fewer hand-overs."),
            _ => Ok(()),
        }
    }

    fn write_workers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bottleneck { stage, utilisation, waits, .. } = self.found;
        match self.loads.workers {
            0 | 1 => f.write_str("The one worker is")?,
            workers => write!(f, "The {workers} workers are")?,
        }
        let (busy, work) = (Percent(*utilisation), self.work());
        let with = if *waits { ", which waits: " } else { ": " };
        write!(f, " busy {busy} of the time, most of it with `{stage}`")?;
        match self.load.fused {
            0 => {}
            1 => f.write_str(" and the stage that is fused into it")?,
            n => write!(f, " and the {n} stages that are fused into it")?,
        }
        write!(f, "{with}{work}.")
    }

    fn write_stage(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Bottleneck { stage, limit, utilisation, waits, .. } = self.found;
        let (busy, work) = (Percent(*utilisation), self.work());
        write!(f, "`{stage}` holds the run back: {work} ")?;
        match (self.load.busy.len(), limit) {
            (1, _) if *waits => write!(f, "take {busy} of the time, most of it waiting."),
            (1, _) => write!(f, "keep it busy {busy} of the time."),
            (n, Limit::Skew) => write!(
                f,
                "keep one of its {n} shards busy {busy} of the time, and the others less: its keys are distributed \
                 unevenly."
            ),
            (n, _) => write!(f, "keep its {n} shards busy {busy} of the time."),
        }
    }

    fn write_why_nothing_helps(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (load, found) = (self.load, self.found);
        let delayed = found.delayed.is_some_and(|delayed| delayed >= DELAYED);
        if found.waits {
            return f.write_str(match (load.scales, &*load.stage) {
                (Scales::End, "source") => " Its input is slow. Neither a worker nor a shard would help.",
                (Scales::End, _) => {
                    " The consumer of its output is slow: the reader of a pipe, a disk, a network. Neither a worker \
                     nor a shard would help."
                }
                _ => " `map_blocking` would give it a thread of its own, and shards would wait side by side.",
            });
        }
        f.write_str(match (load.scales, found.limit) {
            (_, Limit::Workers) if self.loads.workers >= self.loads.cores || delayed => {
                " No core is left for another worker."
            }
            (_, Limit::Workers) if self.has_trials() => return self.write_trials(f),
            (Scales::State, _) => {
                " It processes one number at a time, since it keeps a state: no shard would help, but `shard_by` would \
                 if it has one state a key."
            }
            (Scales::Sequence, _) => {
                " It processes one number at a time, since it is in a loop, renumbers or distributes keys: no shard \
                 would help. Make it do less, or move part of it to a stage before it."
            }
            (Scales::Keys, Limit::Skew) => " More shards would not help: the most frequent key stays with one of them.",
            (Scales::End, _) => " It is an end of the pipeline, which one tasklet runs: make its closure do less.",
            _ => " One more worker or shard would not help.",
        })
    }

    /// Whether another number of workers was tried.
    fn has_trials(&self) -> bool {
        self.loads.rates.len() > 1
    }

    /// The rate of all stages together with each number of workers that was tried.
    fn write_trials(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.has_trials() {
            return Ok(());
        }
        let tried = self.loads.rates.iter().map(|rate| match (rate.workers, Count(rate.numbers_per_second)) {
            (1, count) => format!("1 worker moves {count}"),
            (workers, count) => format!("{workers} workers move {count}"),
        });
        write!(f, " By trial, in numbers of all stages a second: {}.", tried.collect::<Vec<_>>().join(", "))
    }
}

impl Gain {
    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.workers, self.shards) {
            (0, _) => "One more shard",
            (_, 0) => "One more worker",
            _ => "One more worker and one more shard",
        };
        let most = if self.at_most { "at most " } else { "" };
        write!(f, " {what} would make it {most}{:.2} times as fast; then `{}` would limit.", self.factor, self.next)
    }
}

/// A share for people.
struct Percent(f64);

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}%", (self.0 * 100.0).min(100.0))
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
