//! How many workers pay off: the run tries it.
//!
//! A run begins with one worker. A trial adds one, and keeps it if at least a tenth more numbers move in the same time;
//! or takes one away, and keeps that if nearly as many move. So cheap stages stay on one worker, where a value goes
//! from stage to stage in cache. Exceptions:
//!
//! - A number of workers that was asked for stays. Where it is more than the usable cores, a worker per core is tried
//!   as well, and kept if as much moves: workers without a core only take turns.
//! - A trial of one more begins when that worker is awake (`worker_standby.rs`), since a thread takes up to half a millisecond
//!   to begin. A trial ends early when there is little hope.
//! - Where other processes use the cores, a second worker has none. While the workers wait for theirs, by the kernel's
//!   account of each thread (`machine/account.rs`), no worker is added; one fewer is tried soon, over longer windows. A
//!   trial that loses meanwhile ends at the next look, and one whose worker would begin by waiting is called off.

use super::Scratch;
use crate::report::Rate;
use std::ops::Range;
use std::time::{Duration, Instant};

/// How long a trial takes at most, and how soon something that changed is looked at again.
const WINDOW: Duration = Duration::from_millis(10);
/// So early a run tries more workers than it began with.
const FIRST: Duration = Duration::from_millis(4);
/// So early it tries fewer, where it began with more than there are cores.
const CROWDED: Duration = Duration::from_millis(2);
/// A trial is given up so early if it moves less than such a part of what would make it be kept: a run should not pay for
/// what does not help, and what was given up is tried again later.
const HOPELESS: [(Duration, f64); 3] =
    [(Duration::from_micros(500), 0.6), (Duration::from_millis(1), 0.85), (Duration::from_millis(2), 0.93)];
/// So often several workers are looked at, at least: what a step moves counts when it has ended, and with few steps that can
/// be much.
const LOOKS: u32 = 16;
/// More workers must move at least so much more.
const GAIN: f64 = 1.10;
/// Fewer workers are enough if they move at least so much.
const ENOUGH: f64 = 0.97;
/// Workers that waited for a core for so long, and for such a part of the time, share the cores with others.
const DELAYED: (Duration, u32) = (Duration::from_millis(1), 10);
/// Where they do, one fewer is watched for so many windows: in one of them it may have a core all the time, or none.
const SHARED: u32 = 5;
/// The longest time between two trials.
const SELDOM: Duration = Duration::from_secs(2);

/// Decides how many workers there are.
pub(crate) struct Controller {
    /// How many workers there can be: if only one number, that is not changed by measurement.
    choices: Choices,
    workers: usize,
    phase: Phase,
    /// No trial before the current number of workers has been watched for so long.
    idle: Duration,
    /// Whether one more is tried next, or one fewer.
    upwards: bool,
    /// Whether others had the cores when the last trial was due.
    contended: bool,
    decisions: Vec<String>,
    /// Numbers a second when there were so many workers last.
    rates: Vec<Option<f64>>,
    /// Decisions that `tracing` has not been told.
    untold: Vec<String>,
    pub(super) scratch: Scratch,
}

/// How many workers may be tried.
#[derive(Clone, Copy, Debug)]
enum Choices {
    Only,
    /// From 1 up to so many.
    UpTo(usize),
    /// Either of two: a worker a core, and more than that.
    Either {
        cores: usize,
        asked: usize,
    },
}

impl Choices {
    fn more(self, workers: usize) -> Option<usize> {
        match self {
            Choices::UpTo(most) if workers < most => Some(workers + 1),
            Choices::Either { cores, asked } if workers == cores => Some(asked),
            _ => None,
        }
    }

    fn fewer(self, workers: usize) -> Option<usize> {
        match self {
            Choices::UpTo(_) if workers > 1 => Some(workers - 1),
            Choices::Either { cores, asked } if workers == asked => Some(cores),
            _ => None,
        }
    }
}

/// What had moved at some time.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    moved: u64,
    /// How long the workers had waited for a core.
    waited: Duration,
}

impl Mark {
    /// Numbers a second from this mark to a later one.
    fn rate(self, later: Mark) -> f64 {
        (later.moved - self.moved) as f64 / later.at.duration_since(self.at).as_secs_f64()
    }

    /// Whether others had the cores meanwhile.
    fn delayed(self, later: Mark) -> bool {
        let (least, part) = DELAYED;
        later.waited.saturating_sub(self.waited) >= least.max(later.at.duration_since(self.at) / part)
    }
}

enum Phase {
    Unwatched,
    /// What the current number of workers moves.
    Watched {
        since: Mark,
        looks: u32,
    },
    /// As before, while the workers of a trial come.
    Summoned {
        since: Mark,
        workers: usize,
    },
    /// What the workers of a trial move.
    Tried {
        since: Mark,
        looks: u32,
        workers_before: usize,
        rate_before: f64,
    },
}

/// What is to be done about a review.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stay,
    /// So many workers are wanted at hand.
    Summon(usize),
    /// The tasklets are placed anew.
    Place,
}

impl Controller {
    /// A number of workers that stays as it is.
    pub(crate) fn fixed(workers: usize, decision: String) -> Self {
        Controller::new(Choices::Only, workers, decision)
    }

    /// More workers than cores: they were asked for, and are kept unless a worker a core moves as much. Where no stage
    /// waits, they only take turns.
    pub(crate) fn crowded(asked: usize, cores: usize, decision: String) -> Self {
        Controller {
            upwards: false,
            idle: CROWDED,
            ..Controller::new(Choices::Either { cores, asked }, asked, decision)
        }
    }

    /// Begins with one worker and finds out whether more pay, up to `most`.
    pub(crate) fn automatic(most: usize, decision: String) -> Self {
        let choices = if most == 1 { Choices::Only } else { Choices::UpTo(most) };
        Controller::new(choices, 1, decision)
    }

    fn new(choices: Choices, workers: usize, decision: String) -> Self {
        let decisions = vec![decision];
        let most = if let Choices::UpTo(most) = choices { most } else { workers };
        Controller {
            choices,
            workers,
            phase: Phase::Unwatched,
            idle: FIRST,
            upwards: true,
            untold: decisions.clone(),
            contended: false,
            decisions,
            rates: vec![None; most + 1],
            scratch: Scratch::default(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    pub(crate) fn note(&mut self, decision: String) {
        self.untold.push(decision.clone());
        // A run that goes on for months decides often.
        if self.decisions.len() < 64 {
            self.decisions.push(decision);
        }
    }

    /// What was decided since this was called last.
    pub(crate) fn take_untold(&mut self) -> Vec<String> {
        std::mem::take(&mut self.untold)
    }

    pub(crate) fn decisions(&self) -> Vec<String> {
        self.decisions.clone()
    }

    pub(crate) fn rates(&self) -> Vec<Rate> {
        let rate = |(workers, rate): (usize, &Option<f64>)| Some(Rate { workers, numbers_per_second: (*rate)? });
        self.rates.iter().enumerate().filter_map(rate).collect()
    }

    /// From now on so many workers, by the user's wish.
    pub(crate) fn set(&mut self, workers: usize) {
        self.choices = Choices::Only;
        self.phase = Phase::Unwatched;
        self.workers = workers;
        self.rates.resize(self.rates.len().max(workers + 1), None);
        self.note(format!("{workers} workers, as asked for while running"));
    }

    /// A thread could not be started, for this reason: no trial now, and so many workers run at most.
    pub(crate) fn refused(&mut self, error: &std::io::Error, started: usize) {
        self.phase = Phase::Unwatched;
        self.idle = (self.idle * 2).min(SELDOM);
        self.workers = self.workers.min(started.max(1));
        self.note(format!("a worker could not be started: {error}"));
    }

    /// Looks at what moved up to now, and how long the workers waited for a core. `at_hand` says whether these workers could
    /// begin at once.
    pub(super) fn review(
        &mut self,
        now: Instant,
        moved: u64,
        waited: Duration,
        at_hand: impl Fn(Range<usize>) -> bool,
    ) -> Verdict {
        let mark = Mark { at: now, moved, waited };
        if let Phase::Watched { looks, .. } | Phase::Tried { looks, .. } = &mut self.phase {
            *looks = looks.saturating_add(1);
        }
        match self.phase {
            Phase::Unwatched => self.watch(mark, Verdict::Stay),
            Phase::Watched { since, looks } => {
                let delayed = self.delayed(since, mark);
                let (idle, looks_needed) = match delayed && !self.contended {
                    true => (FIRST.min(self.idle), 0),
                    false if self.workers > 1 => (self.idle, LOOKS),
                    false => (self.idle, 0),
                };
                if looks < looks_needed || now.duration_since(since.at) < idle {
                    return Verdict::Stay;
                }
                self.contended = delayed;
                self.try_out(since, mark)
            }
            Phase::Summoned { workers, .. } if !at_hand(self.workers..workers) => Verdict::Stay,
            Phase::Summoned { since, .. } if self.delayed(since, mark) => self.call_off(since, mark),
            Phase::Summoned { since, workers } => self.begin(workers, since, mark),
            Phase::Tried { since, looks, workers_before, rate_before } => {
                let (lasted, rate, more) =
                    (now.duration_since(since.at), since.rate(mark), self.workers > workers_before);
                let wanted = rate_before * if more { GAIN } else { ENOUGH };
                // With others on the cores a hand-over takes a time slice: no reason to look often.
                let lost = more && rate < wanted && self.delayed(since, mark);
                let window = if self.contended { WINDOW * SHARED } else { WINDOW };
                let hopeless = |(early, least): &(Duration, f64)| lasted >= *early && rate < wanted * least;
                let over = lasted >= window || !self.contended && HOPELESS.iter().any(hopeless);
                if !lost && (looks < LOOKS || !over) {
                    return Verdict::Stay;
                }
                self.judge(workers_before, rate_before, rate, rate >= wanted);
                self.watch(mark, Verdict::Place)
            }
        }
    }

    /// Whether others had the cores from one mark to another. Of more workers than cores most wait for one another.
    fn delayed(&self, since: Mark, now: Mark) -> bool {
        matches!(self.choices, Choices::UpTo(_)) && since.delayed(now)
    }

    /// No core is left for another worker: those that there are wait for theirs.
    fn call_off(&mut self, since: Mark, now: Mark) -> Verdict {
        self.contended = true;
        self.tell_rate(since.rate(now));
        self.idle = (self.idle * 2).min(SELDOM);
        self.note(format!("others use the cores: {} as before", counted(self.workers)));
        self.watch(now, Verdict::Place)
    }

    fn watch(&mut self, since: Mark, verdict: Verdict) -> Verdict {
        self.phase = Phase::Watched { since, looks: 0 };
        verdict
    }

    /// What the workers that there are have moved a second.
    fn tell_rate(&mut self, rate: f64) {
        if rate > 0.0 {
            self.rates[self.workers] = Some(rate);
        }
    }

    fn try_out(&mut self, since: Mark, now: Mark) -> Verdict {
        let (more, fewer) = (self.choices.more(self.workers), self.choices.fewer(self.workers));
        let next = match (self.contended, self.upwards) {
            (true, _) => fewer,
            (false, true) => more.or(fewer),
            (false, false) => fewer.or(more),
        };
        match next {
            Some(workers) if workers > self.workers => {
                self.phase = Phase::Summoned { since, workers };
                Verdict::Summon(workers)
            }
            Some(workers) => self.begin(workers, since, now),
            None if self.contended => self.call_off(since, now),
            None => {
                self.tell_rate(since.rate(now));
                self.idle = (self.idle * 2).min(SELDOM);
                self.watch(now, Verdict::Place)
            }
        }
    }

    fn begin(&mut self, workers: usize, since: Mark, now: Mark) -> Verdict {
        let rate_before = since.rate(now);
        if rate_before <= 0.0 {
            return self.watch(now, Verdict::Stay);
        }
        self.tell_rate(rate_before);
        let workers_before = std::mem::replace(&mut self.workers, workers);
        self.phase = Phase::Tried { since: now, looks: 0, workers_before, rate_before };
        Verdict::Place
    }

    fn judge(&mut self, before: usize, rate_before: f64, rate: f64, kept: bool) {
        self.tell_rate(rate);
        let now = self.workers;
        self.workers = if kept { now } else { before };
        self.upwards = kept == (now > before);
        let further = if self.upwards { self.choices.more(self.workers) } else { self.choices.fewer(self.workers) };
        self.idle = match (kept, further) {
            (true, Some(_)) => WINDOW,
            // The one way was just compared, and there is no other.
            (true, None) => WINDOW * 4,
            (false, _) => (self.idle.max(WINDOW) * 2).min(SELDOM),
        };
        let (rate, rate_before) = (rate / 1e6, rate_before / 1e6);
        let verdict = self.workers;
        let move_ = |workers| if workers == 1 { "moves" } else { "move" };
        self.note(format!(
            "{} {} {rate:.3} million numbers a second, {before} {} {rate_before:.3}: {verdict} from here",
            counted(now),
            move_(now),
            move_(before),
        ));
    }
}

fn counted(workers: usize) -> String {
    if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") }
}

#[cfg(test)]
mod tests;
