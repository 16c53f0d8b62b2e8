//! Stages after a fold: edges with a value only at END, on every deployment as in the model.

use crate::as_the_model::as_the_model;
use millstream_core::Either::{self, Left, Right};
use millstream_core::{
    Arrow, AsyncExt, AtEnd, ChoiceExt, ClockExt, Density, FeedbackExt, KeysExt, ModelExt, SequenceNumber, Shape,
    StreamsExt, TextExt, TryMapExt, pipeline,
};
use millstream_exec::{JobRefExt, Queues, Rings, Runner, source};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The sum of everything.
macro_rules! sum {
    ($p:expr) => {
        $p.fold(0_u64, |sum: &mut u64, x: &u64| *sum += x, |sum| sum)
    };
}

/// A fold's output, which counts how many were made.
#[derive(Debug, PartialEq)]
struct Answer([u64; 512]);

static MADE: AtomicUsize = AtomicUsize::new(0);

#[test]
fn a_fold_writes_one_value_and_moves_every_number() {
    // Ring writes count outputs, numbers count inputs: the one slot that is written is END's.
    let answer = |sum: u64| {
        MADE.fetch_add(1, Ordering::SeqCst);
        Answer([sum; 512])
    };
    let p = pipeline::<u64>().fold(0, |sum, x| *sum += x, answer);
    let ring = p.plan().rings.iter().find(|ring| ring.writer.is_some()).map(|ring| ring.slot_bytes);
    assert_eq!(ring, Some(0), "a ring without bytes is not written");
    let slots = |all: &mut Vec<u64>, number: SequenceNumber, value: &Answer| {
        assert_eq!(value.0, [4950; 512]);
        all.push(number.0);
    };
    let (written, end) = Rings::new().ring(4).run((&p).from(source::ready(0..100)).to_fold(Vec::new(), slots)).unwrap();
    assert_eq!((written, end.numbers.0, MADE.load(Ordering::SeqCst)), (vec![100], 100, 1));
    // Its readers pass over all numbers as well.
    let counted = p.enumerate().map(|(number, answer)| (number.0, answer.0[0]));
    assert_eq!(Rings::new().collect_slots((&counted).from(source::ready(0..100))).unwrap().len(), 101);
}

#[test]
fn a_slot_below_end_has_no_size() {
    assert_eq!(size_of::<<AtEnd as Density>::Slot<[u64; 1000]>>(), 0);
    let p = pipeline::<u64>().fanout(|p| sum!(p), |p| p.map(|x| x ^ 1).fold(0, |last, x| *last = *x, |last| last));
    let p = p.map(|(a, b)| a + b).scan(1, |state, x| *state + x).shard(2, |p| p.map(|x| [*x; 4]));
    let plan = p.plan();
    let bytes: Vec<_> =
        plan.rings.iter().filter_map(|ring| Some((&*plan.stages[ring.writer?].kind, ring.slot_bytes))).collect();
    assert_eq!(bytes, [("fold", 0), ("map", 8), ("fold", 0), ("map", 0), ("scan", 0), ("map", 0)]);
}

#[test]
fn stages_that_keep_the_density_after_a_fold() {
    let p = || sum!(pipeline::<u64>());
    as_the_model!(p());
    as_the_model!(p().map(|x| x + 1).scan(3, |s, x| *s * x).delay(7).inspect(|_| ()));
    as_the_model!(p().shard(3, |p| p.map(|x| x * 2)));
    as_the_model!(p().shard_by(
        |x| x % 2,
        2,
        |p| {
            p.scan(1, |s, x| {
                *s += x;
                *s
            })
        },
    ));
    as_the_model!(p().map_async(2, |x| {
        let x = *x;
        async move { x + 1 }
    }));
    as_the_model!(p().fold(5, |s, x| *s += x, |s| s));
    as_the_model!(p().enumerate().map(|(n, x)| n.0 + x));
}

#[test]
fn stages_that_fill_fewer_slots_after_a_fold() {
    let p = || sum!(pipeline::<u64>());
    as_the_model!(p().filter(|x| x % 2 == 1));
    as_the_model!(p().filter(|x| x % 2 == 1).map(|x| x + 1));
    as_the_model!(p().filter_map(|x| (x % 2 == 1).then(|| x.to_string())));
    as_the_model!(p().try_map_or_empty(|x| if x % 2 == 1 { Ok(*x) } else { Err("even") }));
    as_the_model!(p().chunks(2));
    as_the_model!(p().take(1));
    as_the_model!(p().flat_map(|x| 0..x % 10).map(|x| x + 1));
    as_the_model!(p().compact());
}

#[test]
fn joins_after_a_fold() {
    let p = || pipeline::<u64>();
    as_the_model!(p().fanout(|p| sum!(p), |p| sum!(p)).map(|(a, b)| a ^ b));
    as_the_model!(
        p().fanout(|p| sum!(p), |p| sum!(p)).both(|p| p.map(|x| x + 1), |p| p.filter(|x| *x > 3)).map(|(a, b)| a ^ b)
    );
    // A value of END pairs with a fold's: chunks has one there as well.
    as_the_model!(p().fanout(|p| sum!(p), |p| p.chunks(3)).map(|(a, b)| (*a, b.clone())));
    as_the_model!(p().fanout(|p| p.chunks(3), |p| sum!(p)).map(|(a, b)| (a.clone(), *b)));
    as_the_model!(
        p().fanout(|p| p.fold_by(|x| x % 3, 0, |s, x| *s += x, |s| s), |p| sum!(p)).map(|(a, b)| (a.clone(), *b))
    );
    // Never filled.
    as_the_model!(p().fanout(|p| p, |p| sum!(p)).map(|(a, b)| a + b));
}

#[test]
fn choices_after_a_fold() {
    let either = |x: &u64| -> Either<u64, u64> { if x.is_multiple_of(2) { Left(*x) } else { Right(*x) } };
    let p = || sum!(pipeline::<u64>()).map(either);
    as_the_model!(p().merge(|l| l.map(|x| x + 1), |r| r.map(|x| x * 2)));
    as_the_model!(p().merge(|l| l.filter_map(|x| Some(x + 1)), |r| r.map(|x| x * 2)).map(|x| x + 1));
    as_the_model!(
        p().choose(|l| l.map(|x| x + 1), |r| r.map(|x| x.to_string()))
            .map(|lane| lane.map_either(|x| *x, String::clone)),
    );
    // Lanes within a lane.
    let nested = p().merge(|l| l.map(either).merge(|l| l.map(|x| x + 1), |r| r.map(|x| x + 2)), |r| r.map(|x| x * 2));
    as_the_model!(
        p().merge(|l| l.map(either).merge(|l| l.filter(|x| *x > 2), |r| r.map(|x| x + 2)), |r| r.map(|x| x * 2))
            .scan(0, |s, x| *s + x),
    );
    // Two dense lanes are filled only at END together.
    let whole = p().merge(|l| l.map(|x| x + 1), |r| r.map(|x| x * 2));
    fn is_filled_at_end_alone<P: Arrow<Out: Shape<Density = AtEnd>>>(_: &P) {}
    is_filled_at_end_alone(&whole);
    is_filled_at_end_alone(&nested);
    as_the_model!(nested);
}

#[test]
fn loops_and_text_after_a_fold() {
    let p = || sum!(pipeline::<u64>());
    as_the_model!(p().feedback(10_u64, |p| p.map(|(x, s)| (x + s, x * s))).map(|x| *x));
    as_the_model!(p().map_str(|x, out| out.push_str(&x.to_string())).map(|text| text.len()));
}
