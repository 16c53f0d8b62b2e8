//! Failures that are values: the run's error, empty slots, retries.

use millstream_core::{Arrow, Modelled, Retry, SequenceNumber, pipeline};
use millstream_exec::{Rings, Run, RunError};
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
    assert_eq!(p.collect(&Rings::new(), ["1", "2"]).unwrap(), [1, 2]);
    let error = p.collect(&Rings::new(), ["1", "x", "3"]).unwrap_err();
    let cause = "not a reading: invalid digit found in string".to_owned();
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
    assert_eq!(p.collect_slots(&Rings::new().workers(2), 0..10).unwrap(), p.model_slots(0..10));
    assert_eq!(p.model(0..10), [0, 3, 6, 9]);
}

#[test]
fn a_failure_is_tried_again_so_often_and_no_more() {
    for (times, ok) in [(1, false), (2, true)] {
        let calls = AtomicU64::new(0);
        let p = pipeline::<u64>().try_map_retry(Retry::times(times).backoff(Duration::from_micros(1)), move |x| {
            // Every third call succeeds.
            if calls.fetch_add(1, Ordering::SeqCst) % 3 == 2 { Ok(*x) } else { Err("busy") }
        });
        let outcome = p.collect(&Rings::new(), 0..20);
        match ok {
            true => assert_eq!(outcome.unwrap(), (0..20).collect::<Vec<_>>()),
            false => assert_eq!(outcome.unwrap_err().to_string(), r#"stage "try_map_retry-1", number 0: busy"#),
        }
    }
}

#[test]
fn a_blocking_stage_has_a_thread_for_each_shard_and_keeps_order() {
    let barrier = std::sync::Arc::new(std::sync::Barrier::new(3));
    // Nobody goes on before three are there: it takes three threads at once.
    let p = pipeline::<u64>().shard(3, |p| {
        p.map_blocking(move |x| {
            barrier.wait();
            x * 2
        })
    });
    let report = p.run_with(&Rings::new().workers(1), 0..30, Vec::new(), |all, _, x| all.push(*x)).unwrap();
    assert_eq!(report.0, (0..30).map(|x| x * 2).collect::<Vec<_>>());
    assert_eq!(report.1.stages.iter().filter(|stage| stage.blocking).count(), 3);
}

#[test]
fn a_step_that_takes_long_is_named() {
    let p = pipeline::<u64>().map(|x| *x).map(|x| {
        let (_never, waits) = std::sync::mpsc::channel::<()>();
        let _ = waits.recv_timeout(Duration::from_millis(if *x == 5 { 30 } else { 0 }));
    });
    let report = p.run(&Rings::new(), 0..10, |_, _| ()).unwrap();
    // Others may have lost the core for as long; they did not lose it because of what they do.
    assert!(report.overruns(Duration::from_millis(20)).any(|(name, _)| name == "map-2"), "{report:?}");
}
