//! Simulated runs that move given numbers in given times.

use super::{Choices, Controller, FIRST, Phase, SELDOM, Verdict, WINDOW, Wanted};
use std::time::{Duration, Instant};

/// As many tasklets as cores.
fn automatic(cores: usize) -> Controller {
    Controller::of(Wanted { asked: None, cores }, cores)
}

/// Simulates a run in which n workers move `moves(n)` numbers a window. Returns the number of workers it settles on.
fn settle(mut controller: Controller, moves: impl Fn(usize) -> u64) -> usize {
    let (mut now, mut moved) = (Instant::now(), 0);
    let compares = !matches!(controller.choices, Choices::Only);
    for _ in 0..10_000 {
        controller.review(now, moved, Duration::ZERO, |_| true);
        now += WINDOW;
        moved += moves(controller.workers());
    }
    // The rates that were compared are reported: those of fewer workers and of more.
    let rates: Vec<_> = controller.rates().iter().map(|rate| (rate.workers, rate.numbers_per_second)).collect();
    let expected = |(workers, rate): &(usize, f64)| (rate * WINDOW.as_secs_f64() - moves(*workers) as f64).abs() < 1.0;
    assert!(rates.len() > usize::from(compares) && rates.iter().all(expected), "{rates:?}");
    match controller.phase {
        Phase::Tried { workers_before, .. } => workers_before,
        _ => controller.workers,
    }
}

#[test]
fn workers_are_added_as_long_as_they_pay() {
    assert_eq!(settle(automatic(4), |workers| workers as u64 * 1000), 4);
    assert_eq!(settle(automatic(4), |workers| workers.min(2) as u64 * 1000), 2);
    assert_eq!(settle(automatic(4), |workers| 1000 / workers as u64), 1);
    assert_eq!(settle(automatic(1), |_| 1000), 1);
}

/// Milliseconds out of the first `all` with two workers, if two move `two_move` numbers where one moves 100.
fn with_two(two_move: u64, all: usize) -> usize {
    let mut controller = automatic(2);
    let (mut now, mut moved, mut two) = (Instant::now(), 0, 0);
    for _ in 0..all * LOOKS_A_MS {
        controller.review(now, moved, Duration::ZERO, |_| true);
        now += Duration::from_millis(1) / LOOKS_A_MS as u32;
        moved += if controller.workers() == 1 { 100 } else { two_move };
        two += controller.workers() - 1;
    }
    two.div_ceil(LOOKS_A_MS)
}

const LOOKS_A_MS: usize = 50;

#[test]
fn the_lower_its_rate_the_shorter_a_trial() {
    // There is one trial; the next one would be 20 ms later.
    assert_eq!([30, 80, 100, 105].map(|two_move| with_two(two_move, 20)), [1, 1, 2, 10]);
}

#[test]
fn a_gain_is_found_early_and_kept_for_a_while() {
    // Fewer workers are tried for a millisecond, 40 ms after the end of the trial.
    assert_eq!(with_two(150, 4 + 10 + 40), 10 + 40);
    assert_eq!(with_two(150, 4 + 10 + 40 + 10), 10 + 40 + 10 - 1);
}

#[test]
fn a_trial_begins_when_its_workers_are_at_hand() {
    let mut controller = automatic(3);
    let (start, mut moved) = (Instant::now(), 0);
    let mut review = |after: Duration, at_hand: bool| {
        moved += 1000;
        let verdict = controller.review(start + after, moved, Duration::ZERO, |workers| {
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
fn a_worker_that_cannot_be_started_is_tried_again_later() {
    let mut controller = automatic(2);
    let start = Instant::now();
    controller.review(start, 0, Duration::ZERO, |_| false);
    assert_eq!(controller.review(start + FIRST, 1000, Duration::ZERO, |_| false), Verdict::Summon(2));
    controller.refused(&std::io::Error::other("no threads left"), 1);
    assert_eq!(controller.review(start + FIRST, 1000, Duration::ZERO, |_| true), Verdict::Stay);
    assert_eq!(controller.review(start + FIRST * 2, 2000, Duration::ZERO, |_| true), Verdict::Stay);
    assert_eq!(controller.review(start + FIRST * 3, 3000, Duration::ZERO, |_| true), Verdict::Summon(2));
    assert_eq!(
        (controller.workers(), &controller.decisions()[1..]),
        (1, &["a worker could not be started: no threads left".to_owned()][..])
    );
}

#[test]
fn more_workers_than_cores_are_kept_only_if_they_move_more() {
    let crowded = || Controller::of(Wanted { asked: Some(16), cores: 2 }, 16);
    assert_eq!(crowded().workers(), 16);
    assert_eq!(settle(crowded(), |workers| workers as u64 * 1000), 16);
    assert_eq!(settle(crowded(), |workers| workers.min(2) as u64 * 1000), 2);
    assert_eq!(settle(Controller::fixed(16, String::new()), |workers| 1000 / workers as u64), 16);
}

/// A run of `ms` milliseconds on cores that other processes have every other 3 ms. Two workers move `two_move` numbers
/// a tick: a hundredth of one worker's if they wait for each other, twice as many if they do not. Returns the
/// controller and the numbers moved.
fn on_shared_cores(two_move: u64, ms: u64, mut controller: Controller) -> (Controller, u64) {
    let (start, mut moved, mut waited) = (Instant::now(), 0, Duration::ZERO);
    for tick in 0..ms * 10 {
        let away = tick % 60 >= 30;
        let now = start + Duration::from_micros(100 * tick);
        if away {
            waited += Duration::from_micros(100);
        } else {
            moved += if controller.workers() == 1 { 100 } else { two_move };
        }
        // A worker reports its waiting time when it has the core again.
        let reported = if away { waited.saturating_sub(Duration::from_micros(100 * (tick % 60 - 29))) } else { waited };
        if !away || controller.workers() > 1 {
            controller.review(now, moved, reported, |_| true);
        }
    }
    (controller, moved)
}

#[test]
fn no_worker_is_added_while_the_present_ones_wait_for_cores() {
    let (controller, moved) = on_shared_cores(1, 1000, automatic(2));
    // All that one worker moves in its half of the time, less what the first trial took.
    assert!(moved > 490 * 1000, "{moved}, {:?}", controller.decisions());
    assert_eq!(controller.workers(), 1);
    let others = |decision: &&String| **decision == "other threads use the cores: 1 worker as before";
    assert!(controller.decisions().iter().filter(others).count() > 0, "{:?}", controller.decisions());
}

#[test]
fn a_trial_that_waits_for_cores_ends_when_it_loses() {
    let mut controller = automatic(2);
    let start = Instant::now();
    let ms = |ms: u64| start + Duration::from_millis(ms);
    controller.review(ms(0), 0, Duration::ZERO, |_| true);
    assert_eq!(controller.review(ms(4), 4000, Duration::ZERO, |_| true), Verdict::Summon(2));
    assert_eq!(controller.review(ms(5), 5000, Duration::ZERO, |_| true), Verdict::Place);
    assert_eq!(controller.workers(), 2);
    // One look is enough; sixteen would take a time slice each.
    assert_eq!(controller.review(ms(8), 5004, Duration::from_millis(3), |_| true), Verdict::Place);
    assert_eq!(controller.workers(), 1);
    // A trial that wins is not ended early.
    let mut winning = automatic(2);
    winning.review(ms(0), 0, Duration::ZERO, |_| true);
    winning.review(ms(4), 4000, Duration::ZERO, |_| true);
    winning.review(ms(5), 5000, Duration::ZERO, |_| true);
    assert_eq!(winning.review(ms(8), 12_000, Duration::from_millis(3), |_| true), Verdict::Stay);
    assert_eq!(winning.workers(), 2);
}

#[test]
fn a_trial_is_called_off_if_its_worker_had_to_wait_for_a_core() {
    let mut controller = automatic(2);
    let start = Instant::now();
    let ms = |ms: u64| start + Duration::from_millis(ms);
    controller.review(ms(0), 0, Duration::ZERO, |_| true);
    assert_eq!(controller.review(ms(4), 4000, Duration::ZERO, |_| true), Verdict::Summon(2));
    assert_eq!(controller.review(ms(6), 6000, Duration::ZERO, |_| false), Verdict::Stay);
    assert_eq!(controller.review(ms(7), 7000, Duration::from_millis(3), |_| true), Verdict::Place);
    assert_eq!((controller.workers(), controller.rates().len()), (1, 1));
}

#[test]
fn one_of_two_workers_on_shared_cores_is_kept_if_it_moves_as_much() {
    let two = || {
        let mut controller = automatic(2);
        (controller.workers, controller.idle) = (2, SELDOM);
        controller
    };
    let (waiting, moved) = on_shared_cores(1, 1000, two());
    assert_eq!(waiting.workers(), 1);
    assert!(moved > 480 * 1000, "{moved}, {:?}", waiting.decisions());
    let (side_by_side, moved) = on_shared_cores(200, 1000, two());
    assert_eq!(side_by_side.workers(), 2);
    assert!(moved > 900 * 1000, "{moved}, {:?}", side_by_side.decisions());
    // Workers that outnumber the cores wait for one another; their number stays.
    let (many, _) = on_shared_cores(1, 1000, Controller::fixed(2, String::new()));
    assert_eq!(many.workers(), 2);
}

#[test]
fn a_run_whose_rates_waver_changes_its_mind_seldom() {
    // Whatever is tried moves a quarter more than what was.
    let mut controller = automatic(2);
    let (mut now, mut moved, mut rate, mut before) = (Instant::now(), 0, 1000, 1);
    for _ in 0..2000 * LOOKS_A_MS {
        controller.review(now, moved, Duration::ZERO, |_| true);
        if controller.workers() != before {
            (before, rate) = (controller.workers(), rate * 5 / 4);
        }
        now += Duration::from_millis(1) / LOOKS_A_MS as u32;
        moved += rate;
    }
    // After 4 ms, then 40, 80, 160, 320 and 640 after the one before. All of these could be right.
    let decisions = controller.decisions();
    assert!((5..=7).contains(&(decisions.len() - 1)), "{decisions:?}");
}

#[test]
fn an_unchanged_decision_is_reported_once() {
    let mut controller = automatic(2);
    let (mut now, mut waited) = (Instant::now(), Duration::ZERO);
    for moved in 0..10_000 {
        controller.review(now, moved, waited, |_| true);
        now += Duration::from_millis(1);
        waited += Duration::from_micros(500);
    }
    let said = controller.decisions();
    assert_eq!(said[1..], ["other threads use the cores: 1 worker as before"]);
}

#[test]
fn what_another_thread_moves_decides_no_trial() {
    let mut controller = automatic(2);
    let (mut now, mut moved, mut two) = (Instant::now(), 0, 0);
    for step in 0..400 {
        controller.review(now, moved, Duration::ZERO, |_| true);
        now += Duration::from_millis(1);
        moved += 100;
        two += controller.workers() - 1;
        // During a trial another thread moves a hundred times as much for a while.
        if step % 25 == 0 && controller.workers() == 2 {
            now += Duration::from_millis(5);
            moved += 50_000;
            controller.measure_again(now, moved, Duration::ZERO);
        }
    }
    // Two workers move as much as one.
    assert!((1..200).contains(&two), "{two}");
    let rates = controller.rates();
    assert!(rates.len() == 2 && rates.iter().all(|rate| rate.numbers_per_second < 110_000.0), "{rates:?}");
}

#[test]
fn another_version_is_measured_from_its_beginning() {
    let mut controller = Controller::of(Wanted { asked: None, cores: 4 }, 2);
    let (mut now, mut moved) = (Instant::now(), 0);
    let mut look = |controller: &mut Controller, after: Duration| {
        now += after;
        moved += 1000;
        controller.review(now, moved, Duration::ZERO, |_| true)
    };
    look(&mut controller, Duration::ZERO);
    assert_eq!(look(&mut controller, FIRST), Verdict::Summon(2));
    assert_eq!(look(&mut controller, FIRST), Verdict::Place);
    assert_eq!((controller.workers(), controller.rates().len()), (2, 1));
    // In the middle of the trial.
    assert!(controller.begins_version(8));
    assert_eq!((controller.workers(), controller.rates().len()), (1, 0));
    assert_eq!(look(&mut controller, FIRST), Verdict::Stay, "what was moved before does not count");
    assert_eq!(look(&mut controller, FIRST), Verdict::Summon(2));
    controller.begins_version(8);
    assert_eq!(settle(controller, |workers| workers as u64 * 1000), 4, "as many as there are cores");
}

#[test]
fn another_version_has_the_workers_that_it_can_use() {
    let wants = |asked: usize| Controller::of(Wanted { asked: Some(asked), cores: 4 }, 2);
    let workers = |mut controller: Controller, entries| {
        controller.begins_version(entries);
        (controller.workers(), controller.decisions().len() - 1)
    };
    assert_eq!(workers(wants(3), 8), (3, 1));
    assert_eq!(workers(wants(3), 2), (2, 0));
    assert_eq!(workers(wants(3), 0), (1, 1));
    assert_eq!(workers(wants(6), 8), (6, 1));
    let mut crowded = wants(6);
    crowded.begins_version(8);
    assert_eq!(settle(crowded, |workers| workers.min(4) as u64 * 1000), 4, "more than cores are tried");
    // What was set while the run goes on stays.
    let mut set = wants(3);
    set.set(2);
    assert!(!set.begins_version(8));
    assert_eq!(set.workers(), 2);
    let mut narrow = Controller::of(Wanted { asked: None, cores: 4 }, 4);
    narrow.workers = 4;
    assert_eq!(workers(narrow, 2), (2, 1));
}

#[test]
fn a_trial_for_which_nothing_moved_is_undone() {
    let mut controller = automatic(2);
    let start = Instant::now();
    controller.review(start, 0, Duration::ZERO, |_| true);
    assert_eq!(controller.review(start + FIRST, 0, Duration::ZERO, |_| true), Verdict::Summon(2));
    assert_eq!(controller.review(start + FIRST * 2, 0, Duration::ZERO, |_| true), Verdict::Place);
    assert_eq!(controller.workers(), 1);
}

#[test]
fn the_first_decision_is_kept_and_the_last_ones() {
    let mut controller = Controller::fixed(1, "first".to_owned());
    (0..200).for_each(|n| controller.note(n.to_string()));
    let decisions = controller.decisions();
    assert_eq!((decisions.len(), &*decisions[0], &*decisions[1], &*decisions[63]), (64, "first", "137", "199"));
    assert_eq!(controller.take_unreported().len(), 201);
}
