//! Choices on rings: lanes read the same ring, and no value is routed.

use millstream_core::Either::{self, Left, Right};
use millstream_core::{Arrow, ChoiceExt, Density, ModelExt, SequenceNumber, Shape, TryMapExt, Val, pipeline};
use millstream_exec::{Counters, Deployable, JobExt, JobRefExt, Rings, Runner, source};
use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::thread::yield_now;
use std::time::{Duration, Instant};

fn split(x: &u64, modulus: u64) -> Either<u64, String> {
    if x.is_multiple_of(modulus) { Left(*x) } else { Right(format!("{x}")) }
}

/// Both lanes with stages of every kind that a lane may have.
fn lanes(
    modulus: u64,
) -> impl Deployable<
    In = Val<u64>,
    Out: millstream_exec::RingShape + millstream_core::model::ModelShape + millstream_core::ToOwnedItem<Owned = u64>,
> {
    pipeline::<u64>()
        .map(move |x| split(x, modulus))
        .choose(|l| l.map(|x| x + 1).delay(0), |r| r.filter(|s| s.len() != 2).shard(2, |r| r.map(|s| s.len())))
        .merge(
            |l| {
                l.scan(0, |sum, x| {
                    *sum += x;
                    *sum
                })
            },
            |r| r.map(|n| *n as u64),
        )
}

#[test]
fn lanes_keep_every_value_at_its_number() {
    // All to the right, all to the left, alternating, one in a thousand.
    for (modulus, plus) in [(u64::MAX, 1), (1, 0), (2, 0), (1000, 0)] {
        // A ring of one slot hands every number from thread to thread.
        for (ring, batch, workers, numbers) in [(1, 1, 1, 200), (1, 3, 2, 200), (64, 8, 2, 3000), (4096, 2048, 1, 3000)]
        {
            let inputs = || (0..numbers).map(move |x| x + plus);
            let rings = Rings::new().ring(ring).batch(batch).workers(workers);
            let slots = rings.collect_slots(lanes(modulus).from(source::ready(inputs()))).unwrap();
            assert_eq!(slots, lanes(modulus).model_slots(inputs()));
        }
    }
}

fn is_dense<P: Arrow>(_: &P) -> bool {
    <P::Out as Shape>::Density::DENSE
}

#[test]
fn two_dense_lanes_are_dense_together() {
    let halved = || pipeline::<u64>().map(|x| split(x, 2));
    assert!(is_dense(&halved().merge(|l| l, |r| r.map(|s| s.len() as u64))));
    assert!(is_dense(&halved().merge(|l| l.delay(1).shard(1, |l| l), |r| r.map(|s| s.len() as u64))));
    assert!(is_dense(&halved().choose(|l| l, |r| r)));
    assert!(is_dense(&halved().choose(|l| l.fanout(|l| l, |l| l.map(|x| x + 1)), |r| r).choose(|l| l, |r| r)));
    let nested = halved()
        .merge(|l| l.map(|x| split(x, 4)).merge(|l| l, |r| r.map(|s| s.len() as u64)), |r| r.map(|s| s.len() as u64));
    assert!(is_dense(&nested));
    assert!(!is_dense(&halved().merge(|l| l.filter(|x| *x > 3), |r| r.map(|s| s.len() as u64))));
    assert!(!is_dense(&pipeline::<u64>().filter(|x| *x > 3).map(|x| split(x, 2)).choose(|l| l, |r| r)));
    // A lane within a lane omits the values of the other lane, on either side.
    let odd = |s: &String| if s.len() == 1 { Ok(0) } else { Err("long") };
    assert!(!is_dense(&halved().merge(|l| l, |r| r.try_map_or_dead_letter("dead", odd, |_| ()))));
    let both = halved().choose(|l| l, |r| r.fanout(|r| r, |r| r.try_map_or_dead_letter("dead", odd, |_| ())));
    assert!(!is_dense(&both));
    let p = halved().merge(|l| l, |r| r.try_map_or_dead_letter("dead", odd, |_| ())).map(|x| x + 1);
    assert_eq!(Rings::new().collect_slots((&p).from(8..14)).unwrap(), p.model_slots(8..14));
    let model = nested.model_slots(0..9);
    assert_eq!(Rings::new().ring(2).collect_slots((&nested).from(0..9)).unwrap(), model);
}

/// A value at END passes through its lane as any other.
#[test]
fn a_choice_at_end_takes_its_lane() {
    let p = pipeline::<u64>().fold(0, |n, x| *n += x, |n| split(&n, 2)).merge(|l| l.map(|x| x * 10), |r| r.map(|_| 7));
    for (inputs, answer) in [(vec![1, 1], 20), (vec![1], 7)] {
        assert_eq!(p.model(inputs.clone()), [answer]);
        assert_eq!(p.collect(inputs).unwrap(), [answer]);
    }
}

/// Two maps fill one ring; other stages in a lane have rings of their own, with the same output.
#[test]
fn lanes_that_fill_one_ring_and_lanes_that_do_not() {
    fn both<P>(p: P)
    where
        P: Deployable<In = Val<u64>>,
        P::Out:
            millstream_exec::RingShape + millstream_core::model::ModelShape + millstream_core::ToOwnedItem<Owned = u64>,
    {
        for (ring, batch, workers) in [(1, 1, 1), (1, 2, 2), (2, 8, 3), (64, 16, 2)] {
            let rings = Rings::new().ring(ring).batch(batch).workers(workers);
            let slots = rings.collect_slots((&p).from(source::ready(0..500))).unwrap();
            assert_eq!(slots, p.model_slots(0..500), "{rings:?}");
        }
    }
    let halved = || pipeline::<u64>().map(|x| split(x, 2));
    let len = |s: &String| s.len() as u64;
    // A stage after the choice reads the output of both lanes, dense or with a mask, in turn.
    both(halved().merge(|l| l.map(|x| x + 1), |r| r.map(len)).map(|x| x * 3));
    both(halved().merge(|l| l.map(|x| x + 1).named("left"), |r| r.map(len)).filter(|x| x % 3 > 0).map(|x| *x));
    both(halved().merge(|l| l.map(|x| x + 1), |r| r.map(len).map(|x| x + 1)).map(|x| *x));
    both(halved().shard(3, |p| p.merge(|l| l.map(|x| x + 1), |r| r.map(len)).map(|x| *x)));
    both(halved().filter(|_| true).merge(|l| l.map(|x| x + 1), |r| r.map(len)).map(|x| *x));
    let again = |x: &u64| if x.is_multiple_of(3) { Left(x / 3) } else { Right(x * 2) };
    both(
        halved()
            .merge(|l| l.map(|x| x + 1), |r| r.map(len))
            .fanout(|p| p.map(again).merge(|l| l.map(|x| x + 1), |r| r.map(|x| x * 5)), |p| p.map(|x| x + 1))
            .map(|(a, b)| a + b),
    );
}

#[test]
fn a_lane_of_a_shared_ring_that_panics_is_named() {
    let p = pipeline::<u64>().map(|x| split(x, 2)).merge(
        |l| l.map(|x| *x).named("even"),
        |r| {
            r.map(|s| {
                assert_ne!(s, "77");
                0
            })
            .named("odd")
        },
    );
    for workers in [1, 2] {
        let shown = |number: SequenceNumber, _: &u64| assert!(number.0 < 77, "nothing after the panic is visible");
        let error = Rings::new().ring(8).workers(workers).for_each((&p).from(0..), shown).unwrap_err().to_string();
        assert!(error.starts_with(r#"stage "odd", number 77: panicked"#), "{error}");
    }
}

/// The two maps write one ring: while one map is held up, no output of the other is published.
#[test]
fn two_maps_fill_one_ring() {
    // A worker that has both lanes may come to the one that is held first; then the run is repeated.
    assert!((0..100).any(|_| a_lane_passes_one_that_is_held()), "the left lane is held up");
}

/// Whether the left lane fills its ring while the right one is held.
fn a_lane_passes_one_that_is_held() -> bool {
    let (go, gate) = channel::<()>();
    let gate = Mutex::new(gate);
    let held = move |s: &String| {
        let _ = gate.lock().unwrap().recv();
        s.len() as u64
    };
    let p = pipeline::<u64>()
        .map(|x| split(x, 2))
        .merge(|l| l.map(|x| x + 1).named("left"), |r| r.map(held).named("right"));
    let run = Rings::new()
        .ring(8)
        .workers(2)
        .start((&p).from(source::ready(0..100)).to_fold(0, |n: &mut u64, _, _| *n += 1))
        .unwrap();
    let (observer, mut counters) = (run.observer(), Counters::default());
    let left = observer.tasklets().position(|tasklet| tasklet.name == "left").unwrap();
    let begun = Instant::now();
    let mut passed = false;
    while !passed && begun.elapsed() < Duration::from_millis(500) {
        observer.read(&mut counters);
        passed = counters.tasklets[left].moved == 8;
        yield_now();
    }
    let produced: Vec<_> = counters.rings.iter().map(|ring| ring.produced).collect();
    drop(go);
    // The right lane is held at number 1.
    assert!(produced[2..].iter().all(|numbers| *numbers <= 1), "{produced:?}");
    assert_eq!(run.wait().unwrap().0, 100);
    passed
}
