//! Failures that are values: the run's error, empty slots, retries.

use millstream_core::{Arrow, ModelExt, Retry, SequenceNumber, TryMapExt, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, Rings, RunError, Runner, fan_in, source};
use std::error::Error;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

#[derive(Debug)]
struct Unreadable(std::num::ParseIntError);

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("not a reading")
    }
}

impl Error for Unreadable {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

#[test]
fn an_error_ends_the_run_with_stage_number_and_causes() {
    let p = pipeline::<&str>().try_map(|s| s.parse::<u64>().map_err(Unreadable)).named("parse");
    assert_eq!(p.collect(["1", "2"]).unwrap(), [1, 2]);
    let error = p.collect(["1", "x", "3"]).unwrap_err();
    let cause = "not a reading: invalid digit found in string".into();
    let number = Some(SequenceNumber(1));
    assert_eq!(error, RunError::Stage { stage: "parse".into(), number, cause });
}

#[test]
fn a_failure_can_leave_its_slot_empty() {
    let p = pipeline::<u64>().shard(2, |p| {
        p.try_map_or_empty(|x| match x % 3 {
            0 => Ok(*x),
            _ => Err("not a third"),
        })
    });
    assert_eq!(Rings::new().workers(2).collect_slots((&p).from(0..10)).unwrap(), p.model_slots(0..10));
    assert_eq!(p.model(0..10), [0, 3, 6, 9]);
}

#[test]
fn a_failure_is_tried_again_up_to_the_limit() {
    for (times, ok) in [(1, false), (2, true)] {
        let calls = AtomicU64::new(0);
        let p = pipeline::<u64>().try_map_retry(Retry::times(times).backoff(Duration::from_micros(1)), move |x| {
            // Every third call succeeds.
            if calls.fetch_add(1, Ordering::SeqCst) % 3 == 2 { Ok(*x) } else { Err("busy") }
        });
        let outcome = p.collect(0..20);
        match ok {
            true => assert_eq!(outcome.unwrap(), (0..20).collect::<Vec<_>>()),
            false => assert_eq!(outcome.unwrap_err().to_string(), r#"stage "try_map_retry-1", number 0: busy"#),
        }
    }
}

/// Number 0 fails until the other tasklet has done three later numbers. It keeps its place, and no more numbers go on
/// without it than the ring has slots.
#[test]
fn others_go_on_during_a_retry_and_keep_their_order() {
    const SLOTS: u64 = 8;
    let others = AtomicU64::new(0);
    let p = pipeline::<u64>().shard(2, |p| {
        p.try_map_retry(Retry::times(u32::MAX), move |x| match *x {
            0 => {
                std::thread::yield_now();
                let others = others.load(Ordering::SeqCst);
                if others < 3 { Err("busy") } else { Ok(others) }
            }
            x => {
                others.fetch_add(1, Ordering::SeqCst);
                Ok(x)
            }
        })
    });
    let rings = Rings::new().ring(SLOTS as usize).batch(1).workers(1);
    let all = rings.collect(p.from(source::ready(0..100))).unwrap();
    assert!((3..SLOTS).contains(&all[0]), "{} went on", all[0]);
    assert_eq!(all[1..], (1..100).collect::<Vec<_>>());
}

#[test]
fn a_blocking_stage_has_a_thread_for_each_shard_and_keeps_order() {
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(3));
    // No call returns before three have begun: it takes three threads at once.
    let p = pipeline::<u64>().shard(3, |p| {
        p.map_blocking(move |x| {
            barrier.wait();
            x * 2
        })
    });
    let report = Rings::new().workers(1).run(p.from(0..30).to_fold(Vec::new(), |all, _, x| all.push(*x))).unwrap();
    assert_eq!(report.0, (0..30).map(|x| x * 2).collect::<Vec<_>>());
    assert_eq!(report.1.stages[1..].iter().filter(|stage| stage.blocking).count(), 3);
}

/// A map that waits at every hundredth number.
fn waits(long: Duration) -> impl Fn(&u64) -> u64 + Send + Sync + 'static {
    move |x| {
        let (_never, waits) = std::sync::mpsc::channel::<()>();
        let _ = waits.recv_timeout(if x % 100 == 99 { long } else { Duration::ZERO });
        *x
    }
}

#[test]
fn a_step_that_takes_long_is_named() {
    let long = Duration::from_millis(30);
    let p = pipeline::<u64>().map(|x| *x).map(waits(long)).named("waits").map_blocking(waits(long)).named("may");
    let budget = Duration::from_millis(20);
    // One number a step, long after the rounds that are timed anyway: with a budget, every step is timed.
    let rings = Rings::new().batch(1).step_budget(Duration::from_secs(600)).step_budget_of("waits", budget);
    let report = rings.step_budget_of("nosuch", budget).for_each((&p).from(source::ready(0..500)), |_, _| ()).unwrap();
    let overruns: Vec<_> = report.overruns().collect();
    assert_eq!(overruns.iter().map(|overrun| overrun.stage).collect::<Vec<_>>(), ["waits"]);
    // It may have lost the core for as long in other steps.
    assert!(overruns[0].steps >= 5 && overruns[0].by >= Duration::from_millis(10), "{overruns:?}");
    let may = report.stages.iter().find(|stage| stage.name == "may").unwrap();
    assert!(may.budget.is_none() && may.longest_step >= long, "{may:?}");
    assert!(report.decisions.contains(&"no stage is named \"nosuch\": its step budget has no effect".to_owned()));
}

#[test]
fn without_a_budget_a_tenth_of_a_second_is_too_long() {
    let p = pipeline::<u64>().map(|x| *x).map(waits(Duration::from_millis(130)));
    let report = Rings::new().for_each((&p).from(source::ready(0..100)), |_, _| ()).unwrap();
    let overrun = report.overruns().find(|overrun| overrun.stage == "map-2").expect("it took longer");
    assert!(overrun.by >= Duration::from_millis(30), "{overrun:?}");
    // On the calling thread no other stage waits.
    let (_, report) = Inline::new(Rings::new()).run((&p).from(0..100).to_each(|_, _| ())).unwrap();
    assert_eq!(report.overruns().count(), 0);
}

#[test]
fn a_thread_that_panics_with_the_sender_fails_the_run() {
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start(pipeline::<u64>().from(receiver).to_each(|_, _| ())).unwrap();
    let thread = std::thread::Builder::new().name("feeder".to_owned()).spawn(move || {
        sender.send_all([1, 2]).unwrap();
        std::panic::resume_unwind(Box::new("meant to panic"));
    });
    assert!(thread.unwrap().join().is_err());
    let failed = run.wait().unwrap_err();
    assert_eq!(failed.to_string(), "stage \"source\", number 2: its thread \"feeder\" panicked");
}

/// For example by an error handler that does not expect the end of the run.
#[test]
fn a_thread_that_panics_after_the_end_fails_nothing() {
    for many in [false, true] {
        let count = |n: &mut u64, _, _: &u64| *n += 1;
        let (sender, run) = if many {
            let (mut senders, poller) = fan_in(1).open(&Rings::new()).unwrap();
            let run = Rings::new().start(pipeline().from(poller).to_fold(0, count)).unwrap();
            (senders.pop().unwrap(), run)
        } else {
            let (sender, receiver) = source::channel(64);
            (sender, Rings::new().start(pipeline().from(receiver).to_fold(0, count)).unwrap())
        };
        sender.send(1).unwrap();
        run.begin_drain();
        let thread = std::thread::spawn(move || {
            if sender.send(2).is_err() {
                std::panic::resume_unwind(Box::new("meant to panic"));
            }
        });
        assert!(thread.join().is_err());
        assert_eq!(run.wait().unwrap().0, 1, "{many}");
    }
}

#[test]
fn a_stage_that_fails_has_moved_what_came_out() {
    for workers in [1, 2] {
        for slots in [4, 16] {
            let failing = pipeline::<u64>().map(|x| {
                assert!(*x != 27, "meant to panic");
                x + 1
            });
            let p = failing.named("fails").shard(2, |p| p.map_blocking(|x| x + 1));
            let rings = Rings::new().ring(slots).batch(16).workers(workers);
            let ended = rings.start(p.from(source::ready(0..100)).to_each(|_, _| ())).unwrap().join();
            let failure = ended.failure.expect("it panics").to_string();
            assert_eq!(failure, "stage \"fails\", number 27: panicked: meant to panic");
            let [source, fails, rest @ ..] = &ended.report.stages[..] else { panic!("{:?}", ended.report) };
            assert!(fails.moved == 27 && source.moved >= 27, "{workers} workers, {slots} slots: {:?}", ended.report);
            assert!(rest.iter().all(|stage| stage.moved <= 27), "{workers} workers, {slots} slots: {:?}", ended.report);
        }
    }
}

#[test]
fn a_source_that_fails_has_accepted_what_came_before() {
    for workers in [1, 2] {
        for slots in [4, 16] {
            let values = source::ready((0..100_u64).inspect(|x| assert!(*x != 27, "meant to panic")));
            let p = pipeline::<u64>().map(|x| x + 1).shard(2, |p| p.map_blocking(|x| x + 1));
            let rings = Rings::new().ring(slots).batch(16).workers(workers);
            let ended = rings.start(p.from(values).to_each(|_, _| ())).unwrap().join();
            let failure = ended.failure.expect("it panics").to_string();
            assert_eq!(failure, "stage \"source\", number 27: panicked: meant to panic");
            let [source, map, ..] = &ended.report.stages[..] else { panic!("{:?}", ended.report) };
            let moved = (source.moved, map.moved);
            assert!(map.moved <= source.moved && source.moved <= 27, "{workers} workers, {slots} slots: {moved:?}");
        }
    }
}
