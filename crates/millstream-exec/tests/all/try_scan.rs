//! Scans whose functions fail, on every deployment as in the model, with their letters, counts and pauses.

use crate::as_the_model::as_the_model;
use millstream_core::{Arrow, DeadLetter, KeysExt, ModelExt, Retry, TryScanExt, UndoLog, Val, pipeline};
use millstream_exec::{Deployable, Inline, JobExt, JobRefExt, Queues, Rings, RunOutcome, Runner, source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The letters received: number, input, cause.
type Letters = Arc<Mutex<Vec<(u64, u64, String)>>>;

/// Adds to the sum what is no multiple of 3 and of 7.
fn step(sum: &mut u64, x: &u64) -> Result<u64, String> {
    *sum += x;
    match (x % 3, x % 7) {
        (0, _) => Err(format!("{x} by three")),
        (_, 0) => std::panic::resume_unwind(Box::new("by seven")),
        _ => Ok(*sum),
    }
}

fn logged(sum: &mut u64, log: &mut UndoLog<u64>, x: &u64) -> Result<u64, String> {
    log.record(*sum);
    step(sum, x)
}

fn put_back(sum: &mut u64, before: u64) {
    *sum = before;
}

fn receiver() -> (Letters, impl Fn(DeadLetter<'_, u64, String>) + Clone + Send + Sync + 'static) {
    let letters = Letters::default();
    let kept = letters.clone();
    let receive = move |letter: DeadLetter<'_, u64, String>| {
        assert_eq!(letter.stage, "sum");
        kept.lock().unwrap().push((letter.number.0, *letter.input, letter.fault.to_string()));
    };
    (letters, receive)
}

fn flaky() -> impl Fn(&mut u64, &u64) -> Result<u64, &'static str> + Send + Sync + 'static {
    let calls = AtomicU64::new(0);
    move |sum, x| {
        *sum = sum.wrapping_mul(31) + x;
        if calls.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) { Err("busy") } else { Ok(*sum) }
    }
}

#[test]
fn scans_that_fail_are_as_the_model() {
    as_the_model!(pipeline::<u64>().try_scan_or_empty_undo(1, logged, put_back));
    as_the_model!(pipeline::<u64>().try_scan_or_dead_letter("sum", 1, step, |_| ()).map(|x| *x));
    as_the_model!(pipeline::<u64>().try_scan_or_park("sum", |x| x % 20, 1, step, |_| ()).map(|x| *x));
    as_the_model!(pipeline::<u64>().try_scan_retry(Retry::times(100), 1, flaky()));
    as_the_model!(pipeline::<u64>().shard_by(
        |x| x % 4,
        2,
        |p| {
            p.try_scan_or_dead_letter_undo("sum", 1, logged, put_back, |_| ())
                .map(|x| *x)
                .try_scan_retry_undo(
                    Retry::times(100),
                    1,
                    |sum: &mut u64, log: &mut UndoLog<u64>, x| {
                        log.record(*sum);
                        *sum ^= x;
                        Ok::<_, &str>(*sum)
                    },
                    put_back,
                )
                .try_scan_or_park("sum", |x| x % 5, 1, step, |_| ())
                .map(|x| *x)
        }
    ));
}

/// Compares values and letters of every deployment with the model's. Inside a `shard_by` letters come in any order.
fn same_letters(
    p: &impl Deployable<In = Val<u64>, Out = Val<u64, millstream_core::Lane<millstream_core::Dense>>>,
    letters: &Letters,
    sort: bool,
) {
    let taken = || {
        let mut taken = std::mem::take(&mut *letters.lock().unwrap());
        if sort {
            taken.sort();
        }
        taken
    };
    let model = p.model_slots(0..100);
    let expected = taken();
    assert!(expected.len() > 30, "{expected:?}");
    for (slots, workers) in [(1, 1), (2, 3), (64, 2), (1024, 1)] {
        let rings = Rings::new().ring(slots).workers(workers);
        assert_eq!(rings.collect_slots(p.from(source::ready(0..100))).unwrap(), model);
        assert_eq!(taken(), expected, "{slots} slots, {workers} workers");
    }
    Inline::default().collect(p.from(0..100)).unwrap();
    assert_eq!(taken(), expected, "inline");
}

#[test]
fn letters_are_those_of_the_model_on_every_deployment() {
    let (letters, receive) = receiver();
    let cloned = pipeline::<u64>().try_scan_or_dead_letter("sum", 1, step, receive.clone());
    let cloned = cloned.map(|x| *x);
    same_letters(&cloned, &letters, false);
    cloned.model(0..100);
    let expected = std::mem::take(&mut *letters.lock().unwrap());
    Queues::new().collect((&cloned).from(0..100)).unwrap();
    assert_eq!(std::mem::take(&mut *letters.lock().unwrap()), expected, "queues");
    assert_eq!(expected[2], (6, 6, "6 by three".to_owned()));
    assert_eq!(expected[3], (7, 7, "panicked: by seven".to_owned()));

    let undone = pipeline::<u64>().try_scan_or_dead_letter_undo("sum", 1, logged, put_back, receive.clone());
    same_letters(&undone.map(|x| *x), &letters, false);
    let parks = pipeline::<u64>().try_scan_or_park("sum", |x| x % 20, 1, step, receive.clone());
    same_letters(&parks.map(|x| *x), &letters, false);
    let keyed =
        pipeline::<u64>().shard_by(|x| x % 5, 2, |p| p.try_scan_or_dead_letter("sum", 1, step, receive.clone()));
    same_letters(&keyed.map(|x| *x), &letters, true);
}

#[test]
fn a_change_without_a_record_is_found_beside_the_model() {
    let forgets = |sum: &mut u64, log: &mut UndoLog<u64>, x: &u64| {
        if *x != 6 {
            log.record(*sum);
        }
        step(sum, x)
    };
    let p = pipeline::<u64>().try_scan_or_empty_undo(1, forgets, put_back);
    let run = Rings::new().collect((&p).from(0..10)).unwrap();
    assert_eq!(p.model(0..10), [2, 4, 8, 13, 21]);
    assert_eq!(run, [2, 4, 8, 13, 27], "6 was not undone");
}

#[test]
fn failures_retries_and_parked_values_are_counted() {
    let p = pipeline::<u64>()
        .try_scan_or_dead_letter("letters", 0, step, |_| ())
        .try_scan_or_park(
            "parks",
            |sum| sum % 2,
            0,
            |_: &mut u64, sum| if *sum == 3 { Err("3") } else { Ok(*sum) },
            |_| (),
        )
        .try_scan_retry(Retry::times(3), 0, flaky())
        .named("again");
    let (_, report) = p.from(source::ready(0..9)).to_each(|_, _| ()).run().unwrap();
    let of = |name: &str| {
        let stage = report.stages.iter().find(|stage| stage.name == name).unwrap();
        (stage.failures, stage.retries, stage.parked, stage.blocking)
    };
    // The sums are 1, 3, 7, 12 and 20. 3 parks 7.
    assert_eq!(of("letters"), (4, 0, 0, false));
    assert_eq!(of("parks"), (1, 0, 1, false));
    assert_eq!(of("again"), (3, 3, 0, true));
}

/// A failure that is the output of its value is one as well: 3 and 6 are errors, and 7 is a panic.
#[test]
fn failures_that_are_outputs_are_counted() {
    let p = pipeline::<u64>().try_scan_or_error(0, step).named("sum");
    let undone = pipeline::<u64>().try_scan_or_error_undo(0, logged, put_back).named("sum");
    for workers in [1, 2] {
        let rings = Rings::new().workers(workers);
        let (_, report) = rings.run((&p).from(source::ready(1..9)).to_each(|_, _| ())).unwrap();
        let (_, of_undone) = rings.run((&undone).from(1..9).to_each(|_, _| ())).unwrap();
        for report in [report, of_undone] {
            let stage = report.stages.iter().find(|stage| stage.name == "sum").unwrap();
            assert_eq!(stage.failures, 3, "on {workers}");
        }
    }
}

#[test]
fn the_last_error_of_all_tries_ends_the_run() {
    let p =
        pipeline::<u64>().try_scan_retry(Retry::times(2), 0, |_: &mut u64, x| if *x == 3 { Err("no") } else { Ok(*x) });
    let expected = r#"stage "try_scan_retry-1", number 3: no"#;
    assert_eq!(Rings::new().collect((&p).from(0..9)).unwrap_err().to_string(), expected);
    assert_eq!(Queues::new().collect((&p).from(0..9)).unwrap_err().to_string(), expected);
}

#[test]
fn a_stop_does_not_wait_for_a_pause_and_finds_the_state_of_before() {
    let tries = Arc::new(AtomicU64::new(0));
    let counted = tries.clone();
    let daily = Retry::times(4).backoff(Duration::from_secs(86_400));
    let p = pipeline::<u64>().try_scan_retry(daily, 0, move |_: &mut u64, x| {
        if *x < 3 {
            return Ok(*x);
        }
        counted.fetch_add(1, Ordering::SeqCst);
        Err("not yet")
    });
    let run = Rings::new().workers(2).start((&p).from(0..10).to_each(|_, _| ())).unwrap();
    while tries.load(Ordering::SeqCst) == 0 {
        std::thread::yield_now();
    }
    assert_eq!(run.stop_now().unwrap().1.outcome, RunOutcome::Stopped);
    assert_eq!(tries.load(Ordering::SeqCst), 1);
}
