//! New clocks on rings.

use millstream_core::{Arrow, ClockExt, Late, ModelExt, Overflow, SequenceNumber, Window, pipeline};
use millstream_exec::{Inline, JobExt, JobRefExt, Rings, RunError, Runner, ThroughExt, source};
use std::iter;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[test]
fn small_rings_small_batches_and_any_workers_give_the_models_slots() {
    let p = pipeline::<u64>()
        .filter(|x| x % 3 != 0)
        .flat_map(|x| 0..x % 5)
        .fanout(|p| p.scan(0, |n, x| std::mem::replace(n, *n + x)), |p| p.filter(|x| x % 2 == 0))
        .compact()
        .shard(2, |p| p.map(|(n, x)| vec![*n; *x as usize]))
        .flatten()
        .fold(Vec::new(), |all, x| all.push(*x), |all| all)
        .flatten();
    for n in [0, 1, 2, 100] {
        let model = p.model_slots(0..n);
        for slots in [1, 2, 8, 64] {
            for batch in [1, 3, 100] {
                for workers in 1..4 {
                    let rings = Rings::new().ring(slots).batch(batch).workers(workers);
                    assert_eq!(rings.collect_slots((&p).from(source::ready(0..n))).unwrap(), model);
                }
            }
        }
    }
}

#[test]
fn an_endless_value_is_expanded_as_far_as_it_is_wanted() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let endless = move |from: &u64| {
        let (from, counter) = (*from, counter.clone());
        iter::repeat_with(move || from + counter.fetch_add(1, Ordering::SeqCst) as u64)
    };
    let p = pipeline::<u64>().flat_map(endless).map(|x| x * 2);
    let first: Vec<u64> = [7].into_iter().through_on(Rings::new().ring(4), p).take(100).collect();
    assert_eq!(first, (0..100).map(|x| (x + 7) * 2).collect::<Vec<_>>());
    assert!(asked.load(Ordering::SeqCst) <= 100 + 3 * 4, "the values taken, and two rings");
}

#[test]
fn a_panic_is_a_failure_at_the_inputs_number() {
    let panics_at = |at: u64| move |x: &u64| (0..10 * x).inspect(move |y| assert!(*y != at, "no {at}"));
    // The values 0, 1, 2, ... have their own numbers; 25 is the first among the outputs of 3.
    let p = pipeline::<u64>().map(|x| *x).flat_map(panics_at(25)).named("expand");
    let error =
        RunError::Stage { stage: "expand".into(), number: Some(SequenceNumber(3)), cause: "panicked: no 25".into() };
    for slots in [1, 4, 1024] {
        let rings = Rings::new().ring(slots).workers(2);
        assert_eq!(rings.collect((&p).from(0..)).unwrap_err(), error);
        assert_eq!(Inline::new(rings.clone()).run((&p).from(0_u64..).to_each(|_, _| ())).unwrap_err(), error);
    }
    let at_end = pipeline::<u64>().fold(0, |n, x| *n += x, |n| n).flat_map(|_| -> Vec<u64> { panic!("at END") });
    let RunError::Stage { number, .. } = at_end.collect(0..5).unwrap_err() else { panic!() };
    assert_eq!(number, Some(SequenceNumber(5)));
}

/// Random times, more or less in order, compared with the model, which is an independent implementation.
#[test]
fn windows_of_event_time_are_the_models() {
    let mut seed = 7_u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) % below
    };
    let mut late = 0;
    for round in 0..400_u64 {
        let shape = match round % 3 {
            0 => Window::tumbling(1 + random(9)),
            1 => Window::sliding(6 + random(9), 1 + random(6)),
            _ => Window::session(1 + random(7)),
        };
        let window = shape.lateness(random(12)).late(if random(2) == 0 { Late::Drop } else { Late::Keep });
        let window = if random(2) == 0 { window.at_most(random(9) as usize, Overflow::CloseFirst) } else { window };
        let spread = 1 + random(25);
        // Some of them at the end of time.
        let first = if random(4) == 0 { u64::MAX - 150 } else { 0 };
        let times: Vec<u64> = (0..random(60)).map(|n| first + 2 * n + random(spread)).collect();
        let p = pipeline::<u64>().filter(|time| time % 7 != 6).windows_by(window, |time| *time);
        let model = p.model_slots(times.clone());
        late += model.iter().flatten().map(|window| window.late.len() + window.dropped as usize).sum::<usize>();
        let rings = Rings::new().ring(1 << random(5)).batch(1 + random(9) as usize).workers(1 + random(2) as usize);
        assert_eq!(
            rings.collect_slots((&p).from(source::ready(times.clone()))).unwrap(),
            model,
            "{window:?} of {times:?}"
        );
    }
    assert!(late > 100, "some values are late");
    let p = pipeline::<u64>().windows_by(Window::tumbling(10).late(Late::Fail), |time| *time);
    let error = p.collect([3, 12, 4].into_iter()).unwrap_err().to_string();
    let expected = "a value of time 4 is late: its windows have closed, since there was one of time 12";
    assert_eq!(error, format!("stage \"windows_by-1\", number 2: {expected}"));

    let full = Window::tumbling(10).at_most(2, Overflow::Fail);
    let error = pipeline::<u64>().windows_by(full, |time| *time).named("days").collect(0..9_u64);
    let expected = "at a value of time 2, open windows would hold more than 2 values";
    assert!(error.unwrap_err().to_string().starts_with(&format!("stage \"days\", number 2: {expected}")));
}
