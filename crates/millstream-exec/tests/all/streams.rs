//! Stages that keep a state and their clock, on rings; and streams that end before their source.

use millstream_core::{Arrow, ClockExt, FeedbackExt, ModelExt, PartsExt, StreamsExt, pipeline};
use millstream_exec::{Deployable, Inline, JobRefExt, Rings, RunOutcome, Runner, Stepped, ThroughExt, source};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};

#[test]
fn small_rings_small_batches_and_any_workers_give_the_models_slots() {
    let p = pipeline::<u64>()
        .inspect(|_| ())
        .skip(2)
        .map_m(|x| x / 2)
        .dedup()
        .fanout(|p| p.pairwise(), |p| p.enumerate())
        .map(|((a, b), (n, c))| a + b + n.0 + c)
        .skip_while(|x| x % 4 != 0)
        .fanout(|p| p.windows(3), |p| p.take(30))
        .take_while(|(_, x)| *x < 300)
        .map(|(w, x)| w.iter().sum::<u64>() + x)
        .chunks(4)
        .flatten()
        .take(25);
    for n in [0, 1, 2, 20, 200] {
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

fn assert_ends<P: Deployable<In = millstream_core::Val<u64>, Out: millstream_exec::RingShape>>(p: &P, numbers: u64) {
    for slots in [1, 4, 1024] {
        let rings = Rings::new().ring(slots).workers(2);
        for report in [
            rings.for_each(p.from(0..), |_, _| ()).unwrap(),
            rings.for_each(p.from(source::ready(0..)), |_, _| ()).unwrap(),
            Inline::new(rings.clone()).run(p.from(0..).to_each(|_, _| ())).unwrap().1,
            Stepped::new(rings.clone(), slots as u64).run(p.from(source::ready(0..)).to_each(|_, _| ())).unwrap().1,
        ] {
            assert_eq!((report.outcome, report.numbers.0), (RunOutcome::End, numbers));
        }
    }
}

#[test]
fn an_endless_source_stops_when_enough_was_taken() {
    assert_ends(&pipeline::<u64>().take(10), 10);
    assert_ends(&pipeline::<u64>().take(0), 0);
    assert_ends(&pipeline::<u64>().filter(|x| x % 3 == 2).take(10).map(|x| *x), 30);
    assert_ends(&pipeline::<u64>().take_while(|x| *x < 10).map(|x| *x), 10);
    assert_ends(&pipeline::<u64>().flat_map(|x| *x..).take(10).filter(|x| x % 2 == 0), 10);
    assert_ends(&pipeline::<u64>().shard(3, |p| p.map(|x| x + 1)).take(10).shard(2, |p| p.map(|x| *x)), 10);
    assert_ends(&pipeline::<u64>().map_blocking(|x| *x).take(10).map_blocking(|x| *x), 10);
    assert_ends(&pipeline::<u64>().take(100).fanout(|p| p.map(|x| *x), |p| p.take(3)).map(|(x, _)| *x).take(2), 2);
    assert_ends(&pipeline::<u64>().map(|x| x.to_string()).take(10).map(String::len).fold(0, |n, x| *n += x, |n| n), 10);
}

/// The source yields the wanted values and then waits for ever.
#[test]
fn a_source_that_waits_is_not_waited_for() {
    let p = pipeline::<u64>().map(|x| x + 1).take(3).map(|x| x * 2);
    for workers in 1..3 {
        let (values, all) = channel();
        (0..3).for_each(|x| values.send(x).unwrap());
        let taken = Rings::new().workers(workers).collect((&p).from(all.into_iter())).unwrap();
        assert_eq!(taken, [2, 4, 6]);
        drop(values);
    }
    let (sender, receiver) = source::channel(4096);
    let run = Rings::new().start((&p).from(receiver).to_fold(Vec::new(), |all, _, x| all.push(*x))).unwrap();
    (0..3).for_each(|x| sender.send(x).unwrap());
    assert_eq!(run.wait().unwrap().0, [2, 4, 6]);
    assert!(sender.send(3).is_err(), "the run takes no more values");
    assert_eq!((0..).through(p).collect::<Vec<_>>(), [2, 4, 6]);
}

#[test]
fn a_side_output_sees_at_least_the_taken_values() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = seen.clone();
    let p = pipeline::<u64>().tee(move |p| p.map(|x| *x).map_m(move |x| see.lock().unwrap().push(*x))).take(100);
    for slots in [1, 8, 1024] {
        for workers in 1..4 {
            seen.lock().unwrap().clear();
            Rings::new().ring(slots).workers(workers).for_each((&p).from(source::ready(0..)), |_, _| ()).unwrap();
            let seen = seen.lock().unwrap();
            assert!(seen.len() >= 100 && (0..).zip(&*seen).all(|(n, x)| n == *x), "{seen:?}");
        }
    }
}

#[test]
fn a_loop_in_a_side_output_sees_at_least_the_taken_values() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let see = seen.clone();
    let p = pipeline::<u64>()
        .tee(move |p| {
            p.feedback(0, move |p| {
                p.map(|(x, n)| (*x, n + 1)).map_m(move |(x, n)| {
                    see.lock().unwrap().push(*x);
                    (*x, *n)
                })
            })
        })
        .take(20);
    let check = |how: &str| {
        let seen = std::mem::take(&mut *seen.lock().unwrap());
        assert!(seen.len() >= 20 && (0..).zip(&seen).all(|(n, x)| n == *x), "{how}: {seen:?}");
    };
    for slots in [1, 8, 64] {
        for seed in 0..40 {
            let rings = Rings::new().ring(slots).workers(2);
            Stepped::new(rings.clone(), seed).run((&p).from(source::ready(0..)).to_each(|_, _| ())).unwrap();
            check(&format!("{slots} slots, seed {seed}"));
        }
        for workers in 1..4 {
            Rings::new().ring(slots).workers(workers).for_each((&p).from(source::ready(0..)), |_, _| ()).unwrap();
            check(&format!("{slots} slots, {workers} workers"));
        }
    }
}

#[test]
fn effects_happen_once_each_in_number_order() {
    let effects = Arc::new(Mutex::new(Vec::new()));
    let effect = effects.clone();
    let p = pipeline::<u64>().filter(|x| x % 2 == 0).map_m(move |x| effect.lock().unwrap().push(*x)).shard(2, |p| p);
    let assert_once_each = |deployment: &str| {
        let seen = std::mem::take(&mut *effects.lock().unwrap());
        assert_eq!(seen, (0..50).map(|x| 2 * x).collect::<Vec<_>>(), "{deployment}");
    };
    assert_eq!(p.model(0..100).len(), 50);
    assert_once_each("model");
    Inline::new(Rings::new()).run((&p).from(0..100).to_each(|_, ()| ())).unwrap();
    assert_once_each("inline");
    for workers in 1..4 {
        Rings::new().ring(4).batch(3).workers(workers).for_each((&p).from(0..100), |_, ()| ()).unwrap();
        assert_once_each("rings");
    }
    #[cfg(feature = "queues")]
    {
        millstream_exec::Queues::new().capacity(2).for_each((&p).from(0..100), |_, ()| ()).unwrap();
        assert_once_each("queues");
    }
}

#[test]
fn a_value_is_inspected_before_the_next_stage_sees_it() {
    let last = Arc::new(AtomicU64::new(0));
    let (inspected, checked) = (last.clone(), last.clone());
    let p = pipeline::<u64>()
        .inspect(move |x| inspected.store(*x, Ordering::SeqCst))
        .map_m(move |x| checked.load(Ordering::SeqCst) >= *x);
    for workers in 1..4 {
        last.store(0, Ordering::SeqCst);
        let all = Rings::new().ring(8).workers(workers).collect((&p).from(source::ready(0..1000))).unwrap();
        assert!(all.len() == 1000 && all.iter().all(|before| *before));
    }
}
