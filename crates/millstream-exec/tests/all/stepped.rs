//! Schedules that a seed chooses.

use millstream_core::{Arrow, pipeline};
use millstream_exec::{JobExt, JobRefExt, Rings, Runner, Stepped, source};
use std::sync::{Arc, Mutex};

/// The order in which the stages processed the numbers.
fn schedule(seed: u64) -> Vec<(&'static str, u64)> {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let log = |stage: &'static str| {
        let calls = calls.clone();
        move |x: &u64| {
            calls.lock().unwrap().push((stage, *x));
            *x
        }
    };
    let (first, sharded, last) = (log("first"), log("sharded"), log("last"));
    let p = pipeline::<u64>().map(first).shard(3, |p| p.map(sharded)).map(last);
    let rings = Rings::new().ring(4).batch(2);
    let (sum, report) = Stepped::new(rings.clone(), seed)
        .run(p.from(source::ready(0..30)).to_fold(0, |sum, _, x| *sum += x))
        .expect("nothing panics");
    assert_eq!((sum, report.values, report.workers), (435, 30, 0));
    let calls = calls.lock().unwrap();
    calls.clone()
}

#[test]
fn a_seed_replays_its_schedule_and_another_seed_has_another() {
    assert_eq!(schedule(7), schedule(7));
    let all: std::collections::HashSet<_> = (0..20).map(schedule).collect();
    assert!(all.len() > 15, "{} schedules of 20 seeds", all.len());
}

#[test]
fn a_panic_ends_a_stepped_run() {
    let p = pipeline::<u64>().map(|x| 10 / (5 - x)).named("divide");
    for seed in 0..20 {
        let error = Stepped::new(Rings::new().ring(2), seed).run((&p).from(0..).to_each(|_, _| ())).unwrap_err();
        assert_eq!(error.to_string(), r#"stage "divide", number 5: panicked: attempt to divide by zero"#);
    }
}
