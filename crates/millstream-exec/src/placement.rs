//! Which worker runs what: contiguous groups of stages with balanced load, and as many workers as pay.
//!
//! The load of a stage is measured: the numbers it moved times what a number costs. How many workers pay is tried out:
//! more are kept where more numbers move in the same time, and fewer where as many do.

use crate::pool::Pool;
use crate::report::Rate;
use crate::seat::Seat;
use crate::trace::Trace;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

/// How long a placement is watched before it is judged.
const WINDOW: Duration = Duration::from_millis(10);
/// A trial is given up so early if it moves less than so much of what moved before: a short run should not pay for it, and
/// what was given up is tried again later. Fewer workers get more time to begin: they have to take over from the others.
const HOPELESS: [(Duration, f64); 2] = [(Duration::from_micros(500), 0.4), (GLANCE, 0.9)];
const HOPELESSLY_FEW: [(Duration, f64); 1] = [(GLANCE, 0.6)];
/// So early a trial begins where more workers were asked for than there are cores.
const GLANCE: Duration = Duration::from_millis(2);
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
    trial: Option<Trial>,
    window: Option<(Instant, u64)>,
    /// No trial before the window has lasted so long.
    patience: Duration,
    /// Whether one more is tried next, or one fewer.
    upwards: bool,
    decisions: Vec<String>,
    /// Numbers a second when there were so many workers last.
    rates: Vec<Option<f64>>,
    /// Room for what `place` computes.
    loads: Vec<f64>,
    cuts: Vec<usize>,
    trace: Arc<Trace>,
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

struct Trial {
    workers_before: usize,
    rate_before: f64,
}

impl Controller {
    /// A number of workers that stays as it is.
    pub(crate) fn fixed(workers: usize, decision: String) -> Self {
        Controller::new(Choices::Only, workers, decision)
    }

    /// More workers than cores: they were asked for, and are kept unless a worker a core moves as much. Where no stage
    /// waits, they only take turns.
    pub(crate) fn crowded(asked: usize, cores: usize, decision: String) -> Self {
        let choices = Choices::Either { cores, asked };
        Controller { upwards: false, patience: GLANCE, ..Controller::new(choices, asked, decision) }
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
            trial: None,
            window: None,
            patience: WINDOW,
            upwards: true,
            decisions,
            rates: vec![None; most + 1],
            loads: Vec::new(),
            cuts: Vec::new(),
            trace: Arc::default(),
        }
    }

    pub(crate) fn workers(&self) -> usize {
        self.workers
    }

    /// Decisions are told as well as kept, from now on.
    pub(crate) fn tell(&mut self, trace: Arc<Trace>) {
        self.trace = trace;
        self.decisions.iter().for_each(|decision| self.trace.placed(decision));
    }

    pub(crate) fn note(&mut self, decision: String) {
        self.trace.placed(&decision);
        // A run that goes on for months decides often.
        if self.decisions.len() < 64 {
            self.decisions.push(decision);
        }
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
        self.trial = None;
        self.window = None;
        self.workers = workers;
        self.rates.resize(self.rates.len().max(workers + 1), None);
        self.note(format!("{workers} workers, as asked for while running"));
    }

    /// Looks at what moved up to now; true if the tasklets have to be placed anew.
    fn review(&mut self, now: Instant, moved: u64) -> bool {
        let Some((since, moved_then)) = self.window else {
            self.window = Some((now, moved));
            return false;
        };
        let lasted = now.duration_since(since);
        let rate = (moved - moved_then) as f64 / lasted.as_secs_f64();
        let over = match &self.trial {
            None => lasted >= self.patience,
            Some(trial) => {
                let hopeless = |(early, least): &(Duration, f64)| lasted >= *early && rate < trial.rate_before * least;
                let glances = if self.workers > trial.workers_before { &HOPELESS[..] } else { &HOPELESSLY_FEW };
                lasted >= WINDOW || glances.iter().any(hopeless)
            }
        };
        if !over {
            return false;
        }
        self.window = Some((now, moved));
        if rate > 0.0 {
            self.rates[self.workers] = Some(rate);
        }
        if matches!(self.choices, Choices::Only) {
            self.patience = (self.patience * 2).min(SELDOM);
            return true;
        }
        match self.trial.take() {
            None => self.try_out(rate),
            Some(trial) => self.judge(&trial, rate),
        }
        true
    }

    fn try_out(&mut self, rate_before: f64) {
        let workers_before = self.workers;
        let (more, fewer) = (self.choices.more(workers_before), self.choices.fewer(workers_before));
        let next = if self.upwards { more.or(fewer) } else { fewer.or(more) };
        let Some(next) = next else { return };
        self.workers = next;
        self.trial = Some(Trial { workers_before, rate_before });
    }

    fn judge(&mut self, trial: &Trial, rate: f64) {
        let (before, now) = (trial.workers_before, self.workers);
        let wanted = if now > before { GAIN } else { ENOUGH };
        let kept = rate >= trial.rate_before * wanted;
        self.workers = if kept { now } else { before };
        self.upwards = if kept { now > before } else { now < before };
        // What changed is looked at again soon; what did not, less and less often.
        self.patience = if kept { WINDOW } else { (self.patience * 2).min(SELDOM) };
        let (rate, rate_before) = (rate / 1e6, trial.rate_before / 1e6);
        let verdict = self.workers;
        self.note(format!(
            "{now} workers move {rate:.3} million numbers a second, {before} move {rate_before:.3}: {verdict} from here"
        ));
    }
}

/// Judges the placement, if it is time to. Called by workers between two rounds. Once warm it does not allocate.
pub(crate) fn review(pool: &Arc<Pool>, now: Instant) {
    let Ok(mut controller) = pool.controller.try_lock() else { return };
    let moved = pool.seats().iter().map(|seat| seat.moved()).sum();
    if controller.review(now, moved)
        && let Err(error) = place(pool, &mut controller)
    {
        controller.note(format!("a worker could not be started: {error}"));
    }
}

/// Places the tasklets on so many workers from now on.
pub(crate) fn set_workers(pool: &Arc<Pool>, workers: usize) -> std::io::Result<()> {
    let mut controller = pool.controller.lock().unwrap_or_else(PoisonError::into_inner);
    controller.set(workers);
    place(pool, &mut controller)
}

fn place(pool: &Arc<Pool>, controller: &mut Controller) -> std::io::Result<()> {
    let started = pool.start(controller.workers);
    if started.is_err() {
        controller.workers = pool.started().max(1);
    }
    let workers = controller.workers;
    if let Some(refused) = pool.shared.patience.placed(workers) {
        controller.note(refused);
    }
    let Controller { loads, cuts, .. } = controller;
    loads.clear();
    let load = |seat: &Seat| seat.cost().map_or(0.0, |cost| cost * seat.moved() as f64);
    loads.extend(pool.cooperative().map(|together| together.map(load).sum::<f64>()));
    cut(loads, workers, cuts);
    pool.place(cuts);
    started
}

/// Equal groups, by count.
pub(crate) fn cut_evenly(count: usize, workers: usize, cuts: &mut Vec<usize>) {
    cuts.clear();
    cuts.extend((0..=workers).map(|worker| worker * count / workers));
}

/// Cuts the loads into at most `workers` contiguous groups such that the greatest group is as small as it can be.
fn cut(loads: &[f64], workers: usize, cuts: &mut Vec<usize>) {
    let total: f64 = loads.iter().sum();
    if total <= 0.0 {
        return cut_evenly(loads.len(), workers, cuts);
    }
    cuts.clear();
    cuts.push(0);
    fill_groups(loads, least_greatest(loads, workers) * (1.0 + 1e-9), |cut| cuts.push(cut));
    cuts.resize(workers + 1, loads.len());
}

/// How small the greatest of at most `workers` contiguous groups can be.
pub(crate) fn least_greatest(loads: &[f64], workers: usize) -> f64 {
    let total: f64 = loads.iter().sum();
    let (mut low, mut high) = (loads.iter().copied().fold(total / workers as f64, f64::max), total);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let mut groups = 1;
        fill_groups(loads, middle, |_| groups += 1);
        if groups <= workers { high = middle } else { low = middle }
    }
    high
}

/// Fills groups up to `limit`, one after the other; calls `cut` where the next one begins.
fn fill_groups(loads: &[f64], limit: f64, mut cut: impl FnMut(usize)) {
    let (mut group, mut empty) = (0.0, true);
    for (i, load) in loads.iter().enumerate() {
        if group + load > limit && !empty {
            cut(i);
            group = 0.0;
        }
        group += load;
        empty = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, Controller, WINDOW, cut};
    use std::time::{Duration, Instant};

    #[test]
    fn groups_are_contiguous_and_balanced() {
        let cuts = |loads: &[f64], workers: usize| {
            let mut cuts = vec![7];
            cut(loads, workers, &mut cuts);
            cuts
        };
        assert_eq!(cuts(&[0.0; 5], 2), [0, 2, 5]);
        assert_eq!(cuts(&[1.0, 1.0, 1.0, 9.0], 2), [0, 3, 4]);
        assert_eq!(cuts(&[9.0, 1.0, 1.0, 1.0], 2), [0, 1, 4]);
        assert_eq!(cuts(&[1.0; 6], 3), [0, 2, 4, 6]);
        assert_eq!(cuts(&[5.0], 3), [0, 1, 1, 1]);
    }

    /// Plays a run in which so many workers move so many numbers a window.
    fn settle(mut controller: Controller, moves: impl Fn(usize) -> u64) -> usize {
        let (mut now, mut moved) = (Instant::now(), 0);
        let compares = !matches!(controller.choices, Choices::Only);
        for _ in 0..10_000 {
            controller.review(now, moved);
            now += WINDOW;
            moved += moves(controller.workers());
        }
        // What was compared can be told: the rates of fewer workers and of more.
        let told: Vec<_> = controller.rates().iter().map(|rate| (rate.workers, rate.numbers_per_second)).collect();
        let expected =
            |(workers, rate): &(usize, f64)| (rate * WINDOW.as_secs_f64() - moves(*workers) as f64).abs() < 1.0;
        assert!(told.len() > usize::from(compares) && told.iter().all(expected), "{told:?}");
        controller.trial.map_or(controller.workers, |trial| trial.workers_before)
    }

    #[test]
    fn workers_are_added_as_long_as_they_pay() {
        let automatic = |most| Controller::automatic(most, String::new());
        assert_eq!(settle(automatic(4), |workers| workers as u64 * 1000), 4);
        assert_eq!(settle(automatic(4), |workers| workers.min(2) as u64 * 1000), 2);
        assert_eq!(settle(automatic(4), |workers| 1000 / workers as u64), 1);
        assert_eq!(settle(automatic(1), |_| 1000), 1);
    }

    #[test]
    fn the_less_hope_the_shorter_a_trial() {
        // How many half milliseconds two workers are tried for, if they move so much where one moves 1000.
        let tried = |two_move: u64| {
            let mut controller = Controller::automatic(2, String::new());
            let (mut now, mut moved, mut tried) = (Instant::now(), 0, 0);
            for _ in 0..50 {
                controller.review(now, moved);
                now += Duration::from_micros(500);
                moved += if controller.workers() == 1 { 1000 } else { two_move };
                tried += controller.workers() - 1;
            }
            assert_eq!(controller.workers(), 1);
            tried
        };
        assert_eq!([tried(300), tried(800), tried(1000)], [1, 4, 20]);
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
