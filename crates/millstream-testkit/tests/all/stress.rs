//! Many tiny runs on real threads: a lost wake-up, or a lock that is held too long, makes a run hang.

use millstream_core::{Arrow, ModelExt, Sparse, Val, pipeline};
use millstream_exec::{Deployable, Inline, JobExt, JobRefExt, Queues, Rings, Runner, ThroughExt, source};
use millstream_testkit::within;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::sync::mpsc::channel;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(60);

fn three_stages() -> impl Deployable<In = Val<u64>, Out = Val<u64, Sparse>> {
    pipeline::<u64>().map(|x| x + 1).filter(|x| x % 3 != 0).shard(2, |p| p.map(|x| x * 2))
}

#[test]
fn tiny_runs_on_rings_of_one_slot_all_end() {
    for round in 0..300 {
        let (numbers, workers) = (0..round % 20, 2 + (round % 3) as usize);
        let model = three_stages().model(numbers.clone());
        let run = move || Rings::new().ring(1).workers(workers).collect(three_stages().from(numbers));
        assert_eq!(within(PATIENCE, run), Ok(Ok(model)), "round {round}");
    }
}

/// The source waits for the sink each time, so that all threads park again and again.
#[test]
fn all_threads_park_and_wake_for_every_value() {
    for workers in 1..=4 {
        for _ in 0..10 {
            let (seen, sees) = channel();
            let run = move || {
                let source = (0..20_u64).inspect(move |n| {
                    if *n > 0 {
                        assert_eq!(sees.recv(), Ok(n - 1));
                        // Long enough for the workers to have parked.
                        std::thread::sleep(Duration::from_micros(200));
                    }
                });
                let p = pipeline::<u64>().map(|x| *x).fanout(|p| p, |p| p.map(|x| *x)).map(|(x, _)| *x);
                Rings::new().ring(1).workers(workers).for_each(p.from(source), move |_, x| seen.send(*x).unwrap_or(()))
            };
            let outcome = within(PATIENCE, run).unwrap_or_else(|hung| panic!("{workers} workers: {hung}"));
            assert_eq!(outcome.map(|report| report.values), Ok(20));
        }
    }
}

#[test]
fn iterators_that_are_dropped_half_way_end_their_workers() {
    for round in 0..200 {
        let run = move || {
            let rings = Rings::new().ring(1 << (round % 4)).workers(1 + round % 3);
            (0..).through_on(rings, pipeline::<u64>().map(|x| x + 1).map(|x| x * 2)).take(round % 7).count()
        };
        assert_eq!(within(PATIENCE, run), Ok(round % 7));
    }
}

/// Uneven shards before and after a fan-out, three workers: no timing repeats. Mostly on rings, and also on the calling
/// thread and on queues, with a thread for each stage.
#[test]
fn a_thousand_reruns_have_one_hash() {
    let uneven = |x: &u64| {
        if x.is_multiple_of(7) {
            std::thread::yield_now();
        }
        x.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    };
    let p = pipeline::<u64>()
        .shard(3, move |p| p.map(uneven).fanout(|p| p.filter(|x| x % 5 != 0), move |p| p.map(uneven)))
        .both(|p| p.scan(0_u64, |n, x| std::mem::replace(n, n.wrapping_add(*x))), |p| p.delay(1))
        .shard(2, move |p| p.map(move |(x, y)| uneven(&(x ^ y))));
    let hash = |slots: Vec<Option<u64>>| {
        let mut hasher = DefaultHasher::new();
        slots.hash(&mut hasher);
        hasher.finish()
    };
    let model = hash(p.model_slots(0..64));
    let run = move || {
        (0..1000)
            .filter(|round| {
                let rings = Rings::new().ring(1 << (round % 6)).batch(1 + round % 5).workers(3);
                let slots = match round % 10 {
                    0 => Inline::new(rings).collect_slots((&p).from(0..64)),
                    1 => Queues::new().capacity(1 + round % 7).collect_slots((&p).from(0..64)),
                    _ => rings.collect_slots((&p).from(source::ready(0..64))),
                };
                hash(slots.expect("nothing panics")) != model
            })
            .count()
    };
    assert_eq!(within(2 * PATIENCE, run), Ok(0), "reruns with another hash");
}
