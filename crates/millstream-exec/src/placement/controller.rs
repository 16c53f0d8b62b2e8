//! How many workers pay: tried out. More are kept where more numbers move in the same time, and fewer where as many do.

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
/// The longest time between two trials.
const SELDOM: Duration = Duration::from_secs(2);

/// Decides how many workers there are.
pub(crate) struct Controller {
    /// How many workers there can be: if only one number, that is not changed by measurement.
    choices: Choices,
    workers: usize,
    phase: Phase,
    /// No trial before the current number of workers has been watched for so long.
    patience: Duration,
    /// Whether one more is tried next, or one fewer.
    upwards: bool,
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
}

impl Mark {
    /// Numbers a second from this mark to a later one.
    fn rate(self, later: Mark) -> f64 {
        (later.moved - self.moved) as f64 / later.at.duration_since(self.at).as_secs_f64()
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
            patience: CROWDED,
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
            patience: FIRST,
            upwards: true,
            untold: decisions.clone(),
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
        self.patience = (self.patience * 2).min(SELDOM);
        self.workers = self.workers.min(started.max(1));
        self.note(format!("a worker could not be started: {error}"));
    }

    /// Looks at what moved up to now. `at_hand` says whether these workers could begin at once.
    pub(super) fn review(&mut self, now: Instant, moved: u64, at_hand: impl Fn(Range<usize>) -> bool) -> Verdict {
        let mark = Mark { at: now, moved };
        if let Phase::Watched { looks, .. } | Phase::Tried { looks, .. } = &mut self.phase {
            *looks = looks.saturating_add(1);
        }
        match self.phase {
            Phase::Unwatched => self.watch(mark, Verdict::Stay),
            Phase::Watched { looks, .. } if looks < LOOKS && self.workers > 1 => Verdict::Stay,
            Phase::Watched { since, .. } if now.duration_since(since.at) < self.patience => Verdict::Stay,
            Phase::Watched { since, .. } => self.try_out(since, mark),
            Phase::Summoned { workers, .. } if !at_hand(self.workers..workers) => Verdict::Stay,
            Phase::Summoned { since, workers } => self.begin(workers, since, mark),
            Phase::Tried { looks, .. } if looks < LOOKS => Verdict::Stay,
            Phase::Tried { since, workers_before, rate_before, .. } => {
                let (lasted, rate) = (now.duration_since(since.at), since.rate(mark));
                let wanted = rate_before * if self.workers > workers_before { GAIN } else { ENOUGH };
                let hopeless = |(early, least): &(Duration, f64)| lasted >= *early && rate < wanted * least;
                if lasted < WINDOW && !HOPELESS.iter().any(hopeless) {
                    return Verdict::Stay;
                }
                self.judge(workers_before, rate_before, rate, rate >= wanted);
                self.watch(mark, Verdict::Place)
            }
        }
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
        let next = if self.upwards { more.or(fewer) } else { fewer.or(more) };
        match next {
            Some(workers) if workers > self.workers => {
                self.phase = Phase::Summoned { since, workers };
                Verdict::Summon(workers)
            }
            Some(workers) => self.begin(workers, since, now),
            None => {
                self.tell_rate(since.rate(now));
                self.patience = (self.patience * 2).min(SELDOM);
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
        self.patience = match (kept, further) {
            (true, Some(_)) => WINDOW,
            // The one way was just compared, and there is no other.
            (true, None) => WINDOW * 4,
            (false, _) => (self.patience.max(WINDOW) * 2).min(SELDOM),
        };
        let (rate, rate_before) = (rate / 1e6, rate_before / 1e6);
        let verdict = self.workers;
        let moves =
            |workers| if workers == 1 { "1 worker moves".to_owned() } else { format!("{workers} workers move") };
        let (now, before) = (moves(now), moves(before));
        self.note(format!("{now} {rate:.3} million numbers a second, {before} {rate_before:.3}: {verdict} from here"));
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, Controller, FIRST, Phase, Verdict, WINDOW};
    use std::time::{Duration, Instant};

    /// Plays a run in which so many workers move so many numbers a window.
    fn settle(mut controller: Controller, moves: impl Fn(usize) -> u64) -> usize {
        let (mut now, mut moved) = (Instant::now(), 0);
        let compares = !matches!(controller.choices, Choices::Only);
        for _ in 0..10_000 {
            controller.review(now, moved, |_| true);
            now += WINDOW;
            moved += moves(controller.workers());
        }
        // What was compared can be told: the rates of fewer workers and of more.
        let told: Vec<_> = controller.rates().iter().map(|rate| (rate.workers, rate.numbers_per_second)).collect();
        let expected =
            |(workers, rate): &(usize, f64)| (rate * WINDOW.as_secs_f64() - moves(*workers) as f64).abs() < 1.0;
        assert!(told.len() > usize::from(compares) && told.iter().all(expected), "{told:?}");
        match controller.phase {
            Phase::Tried { workers_before, .. } => workers_before,
            _ => controller.workers,
        }
    }

    #[test]
    fn workers_are_added_as_long_as_they_pay() {
        let automatic = |most| Controller::automatic(most, String::new());
        assert_eq!(settle(automatic(4), |workers| workers as u64 * 1000), 4);
        assert_eq!(settle(automatic(4), |workers| workers.min(2) as u64 * 1000), 2);
        assert_eq!(settle(automatic(4), |workers| 1000 / workers as u64), 1);
        assert_eq!(settle(automatic(1), |_| 1000), 1);
    }

    /// Milliseconds of the first `all` in which there are two workers, if they move so much where one moves 100.
    fn with_two(two_move: u64, all: usize) -> usize {
        let mut controller = Controller::automatic(2, String::new());
        let (mut now, mut moved, mut two) = (Instant::now(), 0, 0);
        for _ in 0..all * LOOKS_A_MS {
            controller.review(now, moved, |_| true);
            now += Duration::from_millis(1) / LOOKS_A_MS as u32;
            moved += if controller.workers() == 1 { 100 } else { two_move };
            two += controller.workers() - 1;
        }
        two.div_ceil(LOOKS_A_MS)
    }

    const LOOKS_A_MS: usize = 50;

    #[test]
    fn the_less_hope_the_shorter_a_trial() {
        // One trial, and the next one is 20 ms later.
        assert_eq!([30, 80, 100, 105].map(|two_move| with_two(two_move, 20)), [1, 1, 2, 10]);
    }

    #[test]
    fn what_pays_is_found_early_and_not_doubted_for_a_while() {
        // Fewer are tried out, for a millisecond, 40 behind the end of the trial.
        assert_eq!(with_two(150, 4 + 10 + 40), 10 + 40);
        assert_eq!(with_two(150, 4 + 10 + 40 + 10), 10 + 40 + 10 - 1);
    }

    #[test]
    fn a_trial_begins_when_its_workers_are_at_hand() {
        let mut controller = Controller::automatic(3, String::new());
        let (start, mut moved) = (Instant::now(), 0);
        let mut review = |after: Duration, at_hand: bool| {
            moved += 1000;
            let verdict = controller.review(start + after, moved, |workers| {
                assert_eq!(workers, 1..2);
                at_hand
            });
            (verdict, controller.workers())
        };
        assert_eq!(review(Duration::ZERO, false), (Verdict::Stay, 1));
        assert_eq!(review(FIRST, false), (Verdict::Summon(2), 1));
        assert_eq!(review(FIRST * 2, false), (Verdict::Stay, 1));
        assert_eq!(review(FIRST * 100, false), (Verdict::Stay, 1));
        assert_eq!(review(FIRST * 101, true), (Verdict::Place, 2));
        assert_eq!(controller.rates().len(), 1);
    }

    #[test]
    fn what_cannot_be_started_is_tried_again_later() {
        let mut controller = Controller::automatic(2, String::new());
        let start = Instant::now();
        controller.review(start, 0, |_| false);
        assert_eq!(controller.review(start + FIRST, 1000, |_| false), Verdict::Summon(2));
        controller.refused(&std::io::Error::other("no threads left"), 1);
        assert_eq!(controller.review(start + FIRST, 1000, |_| true), Verdict::Stay);
        assert_eq!(controller.review(start + FIRST * 2, 2000, |_| true), Verdict::Stay);
        assert_eq!(controller.review(start + FIRST * 3, 3000, |_| true), Verdict::Summon(2));
        assert_eq!(
            (controller.workers(), &controller.decisions()[1..]),
            (1, &["a worker could not be started: no threads left".to_owned()][..])
        );
    }

    #[test]
    fn more_workers_than_cores_are_kept_only_where_they_move_more() {
        let crowded = || Controller::crowded(16, 2, String::new());
        assert_eq!(crowded().workers(), 16);
        assert_eq!(settle(crowded(), |workers| workers as u64 * 1000), 16);
        assert_eq!(settle(crowded(), |workers| workers.min(2) as u64 * 1000), 2);
        assert_eq!(settle(Controller::fixed(16, String::new()), |workers| 1000 / workers as u64), 16);
    }
}
