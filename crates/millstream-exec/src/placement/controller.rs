//! How many workers pay off: the run tries it.
//!
//! A run begins with one worker. A trial adds one, and keeps it if at least a tenth more numbers move in the same time;
//! or takes one away, and keeps that if nearly as many move. So cheap stages stay on one worker, where a value goes
//! from stage to stage in cache. Exceptions:
//!
//! - A number of workers that was asked for stays. If it exceeds the usable cores, a worker per core is tried
//!   as well, and kept if as much moves: workers without a core only take turns.
//! - A trial of one more begins when that worker is awake (`worker_standby.rs`), since a thread takes up to half a
//!   millisecond to begin. A trial ends early when there is little hope.
//! - If other processes use the cores, a second worker has none. While the workers wait for theirs, by the kernel's
//!   account of each thread (`machine/account.rs`), no worker is added; one fewer is tried soon, over longer windows. A
//!   trial that loses meanwhile ends at the next look, and one whose worker would begin by waiting is called off.
//! - A trial that takes back what an earlier one changed shows that the rates differ by little, or change. Each doubles
//!   the time until the next trial.

mod choices;
mod mark;

use super::Scratch;
use crate::Rate;
use choices::Choices;
pub(crate) use choices::Wanted;
use mark::Mark;
use std::ops::Range;
use std::time::{Duration, Instant};

/// The longest trial, and the time until a changed number of workers is reviewed again.
const WINDOW: Duration = Duration::from_millis(10);
/// The time until a run first tries more workers.
const FIRST: Duration = Duration::from_millis(4);
/// The time until a run first tries fewer workers, if it began with more than there are cores.
const CROWDED: Duration = Duration::from_millis(2);
/// A trial ends early, after each of these times, if its rate is below this fraction of the rate it needs to be kept. A
/// trial that was given up is repeated later.
const HOPELESS: [(Duration, f64); 3] =
    [(Duration::from_micros(500), 0.6), (Duration::from_millis(1), 0.85), (Duration::from_millis(2), 0.93)];
/// The least number of reviews before several workers are judged. A step's numbers count when it has ended; with few
/// steps in a window they could mislead.
const LOOKS: u32 = 16;
/// More workers are kept if they move at least this many times as much.
const GAIN: f64 = 1.10;
/// Fewer workers are kept if they move at least this fraction.
const ENOUGH: f64 = 0.97;
/// While other processes use the cores, a trial of fewer workers lasts this many windows: in a single one the worker
/// may have a core all the time, or never.
const SHARED: u32 = 5;
/// The longest time between two trials.
const SELDOM: Duration = Duration::from_secs(2);
/// How many decisions are kept.
const MOST_DECISIONS: usize = 64;

/// Decides the number of workers.
pub(crate) struct Controller {
    /// Which numbers of workers may be tried; a single number is not changed by measurement.
    choices: Choices,
    /// What the choices for another version of the pipeline follow from; none if its number of workers is the same.
    wanted: Option<Wanted>,
    workers: usize,
    phase: Phase,
    /// The time that the current number of workers is watched before the next trial.
    idle: Duration,
    /// Whether the next trial adds workers or removes some.
    upwards: bool,
    /// Whether the last trial that was kept added workers.
    added: Option<bool>,
    /// How many trials took back the change of the last kept trial before them.
    reversals: u32,
    /// Whether other processes used the cores when the last trial was due.
    contended: bool,
    decisions: Vec<String>,
    /// Numbers a second, the last time each number of workers ran.
    rates: Vec<Option<f64>>,
    /// Decisions not yet reported to `tracing`.
    unreported: Vec<String>,
    /// How many times another thread had begun to run the stages.
    pub(crate) leads: u64,
    pub(crate) scratch: Scratch,
}

enum Phase {
    Unwatched,
    /// Watching what the current number of workers moves.
    Watched {
        since: Mark,
        looks: u32,
    },
    /// As `Watched`, until the workers of a trial stand by.
    Summoned {
        since: Mark,
        workers: usize,
    },
    /// Watching what the workers of a trial move.
    Tried {
        since: Mark,
        looks: u32,
        workers_before: usize,
        rate_before: f64,
    },
}

/// The action that a review demands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Stay,
    /// This many workers shall stand by.
    Summon(usize),
    /// The tasklets are to be placed again.
    Place,
}

impl Controller {
    /// For tasklets that at most `entries` workers can share.
    pub(crate) fn of(wanted: Wanted, entries: usize) -> Self {
        let (most, choices) = (wanted.most(entries), wanted.choices(entries));
        let decision = match (choices, wanted.asked) {
            (Choices::Either { cores, .. }, _) => {
                format!("{most} workers, as asked for; {cores}, one for each usable core, if they move as much")
            }
            (_, Some(_)) => format!("{}, as asked for", counted(most)),
            (_, None) => {
                format!("1 worker to begin with; more if they move more, up to {} usable cores", wanted.cores)
            }
        };
        let fixed = Controller::fixed(wanted.first(entries), decision);
        let mut controller = Controller { choices, wanted: Some(wanted), rates: vec![None; most + 1], ..fixed };
        controller.begins();
        controller
    }

    /// This number of workers, whatever they move.
    pub(crate) fn fixed(workers: usize, decision: String) -> Self {
        let decisions = vec![decision];
        Controller {
            choices: Choices::Only,
            wanted: None,
            workers,
            phase: Phase::Unwatched,
            idle: FIRST,
            upwards: true,
            added: None,
            reversals: 0,
            unreported: decisions.clone(),
            contended: false,
            decisions,
            rates: vec![None; workers + 1],
            leads: 0,
            scratch: Scratch::default(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// The most workers that the run can have, with enough tasklets.
    pub(crate) fn most(&self) -> usize {
        self.wanted.map_or(self.workers, |wanted| wanted.most(usize::MAX))
    }

    pub(crate) fn note(&mut self, decision: String) {
        self.unreported.push(decision.clone());
        // Bounded: a run of months makes many decisions. The first one says what was asked for.
        if self.decisions.len() == MOST_DECISIONS {
            self.decisions.remove(1);
        }
        self.decisions.push(decision);
    }

    /// The decisions since the last call.
    pub(crate) fn take_unreported(&mut self) -> Vec<String> {
        std::mem::take(&mut self.unreported)
    }

    pub(crate) fn decisions(&self) -> Vec<String> {
        self.decisions.clone()
    }

    pub(crate) fn rates(&self) -> Vec<Rate> {
        let rate = |(workers, rate): (usize, &Option<f64>)| Some(Rate { workers, numbers_per_second: (*rate)? });
        self.rates.iter().enumerate().filter_map(rate).collect()
    }

    /// Fixes the number of workers at the user's request.
    pub(crate) fn set(&mut self, workers: usize) {
        (self.choices, self.wanted) = (Choices::Only, None);
        self.phase = Phase::Unwatched;
        self.workers = workers;
        self.rates.resize(self.rates.len().max(workers + 1), None);
        self.note(format!("{}, as asked for while running", counted(workers)));
    }

    /// Another version of the pipeline begins, whose tasklets at most `entries` workers can share. What was measured of
    /// the one before says nothing about it. Returns whether the tasklets are to be placed again.
    pub(crate) fn begins_version(&mut self, entries: usize) -> bool {
        let before = self.workers;
        if let Phase::Tried { workers_before, .. } = self.phase {
            self.workers = workers_before;
        }
        self.rates.fill(None);
        if let Some(wanted) = self.wanted {
            let most = wanted.most(entries);
            self.choices = wanted.choices(entries);
            self.workers = if wanted.asked.is_some() { most } else { self.workers.min(most) };
            self.rates.resize(most + 1, None);
        }
        self.begins();
        if self.workers != before {
            self.note(format!("{} for the next version of the pipeline", counted(self.workers)));
        }
        self.wanted.is_some()
    }

    /// Nothing of these choices was measured yet. If more workers were asked for than there are cores, the first trial
    /// is of one worker a core, and soon: if no stage waits, the additional ones only take turns.
    fn begins(&mut self) {
        let crowded = matches!(self.choices, Choices::Either { .. });
        (self.idle, self.upwards) = if crowded { (CROWDED, false) } else { (FIRST, true) };
        (self.phase, self.added, self.reversals) = (Phase::Unwatched, None, 0);
    }

    /// A worker thread could not be started: there is no trial now, and at most `started` workers run.
    pub(crate) fn refused(&mut self, error: &std::io::Error, started: usize) {
        self.phase = Phase::Unwatched;
        self.idle = (self.idle * 2).min(SELDOM);
        self.workers = self.workers.min(started.max(1));
        self.note(format!("a worker could not be started: {error}"));
    }

    /// Reviews the numbers moved so far and the time for which the workers waited for a core. `at_hand` says whether
    /// these workers stand by.
    pub(crate) fn review(
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
                // If other processes use the cores, a hand-over takes a time slice: one look is enough.
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

    /// Measures what the workers move from now on: another thread has run the stages.
    pub(crate) fn measure_again(&mut self, now: Instant, moved: u64, waited: Duration) {
        let mark = Mark { at: now, moved, waited };
        match &mut self.phase {
            Phase::Unwatched => {}
            Phase::Watched { since, looks } | Phase::Tried { since, looks, .. } => (*since, *looks) = (mark, 0),
            Phase::Summoned { since, .. } => *since = mark,
        }
    }

    /// Whether other processes used the cores between two marks. Workers that outnumber the cores mostly wait for one
    /// another; that does not count.
    fn delayed(&self, since: Mark, now: Mark) -> bool {
        matches!(self.choices, Choices::UpTo(_)) && since.delayed(now)
    }

    /// Calls off a trial: no core is left for another worker, as the present ones wait for theirs.
    fn call_off(&mut self, since: Mark, now: Mark) -> Verdict {
        self.contended = true;
        self.record_rate(since.rate(now));
        self.idle = (self.idle * 2).min(SELDOM);
        let decision = format!("other threads use the cores: {} as before", counted(self.workers));
        // Nothing new, as long as they do.
        if self.decisions.last() != Some(&decision) {
            self.note(decision);
        }
        self.watch(now, Verdict::Place)
    }

    fn watch(&mut self, since: Mark, verdict: Verdict) -> Verdict {
        self.phase = Phase::Watched { since, looks: 0 };
        verdict
    }

    /// Records the rate of the current number of workers.
    fn record_rate(&mut self, rate: f64) {
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
                self.record_rate(since.rate(now));
                self.idle = (self.idle * 2).min(SELDOM);
                self.watch(now, Verdict::Place)
            }
        }
    }

    fn begin(&mut self, workers: usize, since: Mark, now: Mark) -> Verdict {
        let rate_before = since.rate(now);
        if rate_before <= 0.0 {
            // Undoes what was done for the workers that stand by.
            return self.watch(now, Verdict::Place);
        }
        self.record_rate(rate_before);
        let workers_before = std::mem::replace(&mut self.workers, workers);
        self.phase = Phase::Tried { since: now, looks: 0, workers_before, rate_before };
        Verdict::Place
    }

    fn judge(&mut self, before: usize, rate_before: f64, rate: f64, kept: bool) {
        self.record_rate(rate);
        let now = self.workers;
        self.workers = if kept { now } else { before };
        self.upwards = kept == (now > before);
        if kept {
            let added = now > before;
            self.reversals += u32::from(self.added.replace(added) == Some(!added));
        }
        let further = if self.upwards { self.choices.more(self.workers) } else { self.choices.fewer(self.workers) };
        self.idle = match (kept, further) {
            (true, Some(_)) if self.reversals == 0 => WINDOW,
            // One direction was just tried, and there is no other; or the run wavers.
            (true, _) => (WINDOW * 4 * (1 << self.reversals.min(6))).min(SELDOM),
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

pub(crate) fn counted(workers: usize) -> String {
    if workers == 1 { "1 worker".to_owned() } else { format!("{workers} workers") }
}

#[cfg(test)]
mod tests;
