//! The small shapes and some graphs, on every deployment, against lists written by hand.

use millstream_core::Either::{Left, Right};
use millstream_core::model::ModelShape;
use millstream_core::{
    Arrow, ChoiceExt, ClockExt, Item, Model, ModelExt, PartsExt, StreamsExt, ToOwnedItem, Val, pipeline,
};
use millstream_exec::{Everywhere, Inline, JobExt, JobRefExt, QueueShape, Queues, RingShape, Rings, Runner};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Checks that every deployment has these slots, END last.
pub(crate) fn assert_slots<T, P, B>(p: &P, inputs: impl IntoIterator<Item = T>, slots: &[Option<B>])
where
    T: Item + Clone,
    P: Everywhere + Arrow<In = Val<T>, Out: RingShape + QueueShape + ModelShape + ToOwnedItem<Owned = B>>,
    B: PartialEq + Debug,
{
    let inputs: Vec<T> = inputs.into_iter().collect();
    assert_eq!(Model.collect_slots(p.from(inputs.clone())).as_deref(), Ok(slots), "model");
    assert_eq!(Inline::default().collect_slots(p.from(inputs.clone())).as_deref(), Ok(slots), "inline");
    for capacity in [1, 4, 64] {
        let queues = Queues::new().capacity(capacity);
        assert_eq!(queues.collect_slots(p.from(inputs.clone())).as_deref(), Ok(slots), "{queues:?}");
        for workers in 1..=3 {
            let rings = Rings::new().ring(capacity).workers(workers);
            assert_eq!(rings.collect_slots(p.from(inputs.clone())).as_deref(), Ok(slots), "{rings:?}");
        }
    }
}

/// The values, and an empty END.
pub(crate) fn full<T>(values: impl IntoIterator<Item = T>) -> Vec<Option<T>> {
    values.into_iter().map(Some).chain([None]).collect()
}

#[test]
fn fork_is_every_value_twice() {
    assert_slots(&pipeline::<u64>().fork(), 0..9, &full((0..9).map(|a| (a, a))));
}

#[test]
fn distribute_puts_the_pair_into_the_lane() {
    let judged = |x: &u64| if x.is_multiple_of(3) { Left(x / 3) } else { Right(x.to_string()) };
    let p = pipeline::<u64>()
        .map(move |x| (*x, judged(x)))
        .distribute()
        .choose(|p| p.map(|(x, third)| (*x, *third)), |p| p.map(|(x, shown)| (*x, shown.clone())));
    let expected = |x: u64| if x.is_multiple_of(3) { Left((x, x / 3)) } else { Right((x, x.to_string())) };
    assert_slots(&p, 0..9, &full((0..9).map(expected)));
}

#[test]
fn decompose_is_one_to_many_and_recompose_many_to_one() {
    let decompose = pipeline::<u64>().flat_map(|n| 0..*n);
    assert_slots(&decompose, [2, 0, 3], &full([0, 1, 0, 1, 2]));
    let recompose = pipeline::<u64>().chunks(2);
    assert_slots(&recompose, [1, 2, 3], &[None, Some(vec![1, 2]), None, Some(vec![3])]);
    // One undoes the other.
    let both = pipeline::<u64>().chunks(3).flatten();
    assert_slots(&both, 0..8, &full(0..8));
}

#[test]
fn a_tee_shows_everything_and_changes_nothing() {
    let seen = Arc::new(AtomicU64::new(0));
    let sees = seen.clone();
    let p = pipeline::<u64>().tee(move |p| p.map(move |x| sees.fetch_add(*x, Ordering::Relaxed)));
    assert_slots(&p, 1..=4, &full(1..=4));
    let runs = 2 + 3 * 4;
    assert_eq!(seen.load(Ordering::Relaxed), runs * (1 + 2 + 3 + 4));
}

#[test]
fn a_dead_end_keeps_the_length_and_is_empty() {
    assert_slots(&pipeline::<u64>().map(|x| x + 1).dead_end(), 0..4, &[None, None, None, None, None]);
}

/// One stage, two branches, one join.
#[test]
fn a_diamond_is_a_list() {
    let p = pipeline::<u64>().map(|x| x + 1).fanout(|p| p.map(|x| x * 2), |p| p.map(|x| x * 3)).map(|(x, y)| x * y);
    assert_slots(&p, 0..20, &full((0..20).map(|x| (x + 1) * 2 * (x + 1) * 3)));
}

/// Two rails, and a rung between them at each step: the left rail keeps its value, and the right one combines both.
#[test]
fn a_ladder_is_a_list() {
    let p = pipeline::<u64>()
        .fanout(
            |p| {
                p.scan(0, |sum, x| {
                    *sum += x;
                    *sum
                })
            },
            |p| p.map(|x| x * 10),
        )
        .fanout(|p| p.map(|(l, _)| *l), |p| p.map(|(l, r)| l + r))
        .fanout(|p| p.map(|(l, _)| *l), |p| p.map(|(l, r)| l ^ r))
        .fanout(|p| p.map(|(l, _)| *l), |p| p.map(|(l, r)| l.abs_diff(*r)));
    let rungs = (0..20).map(|x: u64| {
        let left = (0..=x).sum::<u64>();
        let right = left ^ (left + x * 10);
        (left, left.abs_diff(right))
    });
    assert_slots(&p.map(|(l, r)| (*l, *r)), 0..20, &full(rungs));
}

/// Two inputs, three outputs: the middle one is made of both inputs, the outer ones of one each.
#[test]
fn a_w_is_a_list() {
    let p = pipeline::<(u64, String)>().fanout(
        |p| p.firsts().map(|a| a + 1),
        |p| p.fanout(|p| p.map(|(a, b)| format!("{a}{b}")), |p| p.seconds().map(String::len)),
    );
    let inputs: Vec<(u64, String)> = (0..9).map(|n| (n, "x".repeat(n as usize))).collect();
    let outputs = inputs.iter().map(|(a, b)| (a + 1, (format!("{a}{b}"), b.len())));
    assert_slots(&p, inputs.clone(), &full(outputs.collect::<Vec<_>>()));
}

/// A graph that is neither a tree nor a ladder: two joins of different depth read one branch.
#[test]
fn a_branch_that_two_joins_read_is_a_list() {
    let p = pipeline::<u64>()
        .fanout(|p| p.map(|x| x + 1), |p| p.filter(|x| x % 2 == 0))
        .fanout(|p| p.firsts(), |p| p.both(|p| p.delay(100), |p| p.map(|x| x * x)).map(|(d, s)| d + s));
    let slots = (0..9).map(|x: u64| {
        // At 0, 2, 4, ... the left half one join earlier, and the square.
        x.is_multiple_of(2).then(|| (x + 1, if x == 0 { 100 } else { x - 1 } + x * x))
    });
    let slots: Vec<_> = slots.chain([None]).collect();
    assert_slots(&p, 0..9, &slots);
}

#[test]
fn both_on_a_pair_of_rings_is_the_model() {
    let p = pipeline::<u64>().fanout(|p| p.map(|x| x + 1), |p| p.map(u64::to_string));
    let p = p.both(
        |p| p.map(|x| x * 2),
        |p| {
            p.scan(0, |all, s| {
                *all += s.len();
                *all
            })
        },
    );
    let mut length = 0;
    let outputs = (0..30).map(|x: u64| {
        length += x.to_string().len();
        ((x + 1) * 2, length)
    });
    assert_slots(&p, 0..30, &full(outputs.collect::<Vec<_>>()));
}

#[test]
fn pairs_nest_to_eleven() {
    macro_rules! copies {
        ($p:expr; $last:literal) => { $p.map(|x| x + $last) };
        ($p:expr; $first:literal $($rest:literal)+) => {
            $p.fanout(|p| p.map(|x| x + $first), |p| copies!(p; $($rest)+))
        };
    }
    macro_rules! nested {
        ($x:expr; $last:literal) => { $x + $last };
        ($x:expr; $first:literal $($rest:literal)+) => { ($x + $first, nested!($x; $($rest)+)) };
    }
    let p = copies!(pipeline::<u64>(); 0 1 2 3 4 5 6 7 8 9 10);
    let inputs = (0..20).collect::<Vec<u64>>();
    let outputs: Vec<_> = inputs.iter().map(|x| Some(nested!(x; 0 1 2 3 4 5 6 7 8 9 10))).chain([None]).collect();
    assert_eq!(p.plan().stages.len(), 11);
    assert!(p.model_slots(inputs.clone()) == outputs);
    for workers in 1..=3 {
        let rings = Rings::new().ring(4).workers(workers);
        assert!(rings.collect_slots((&p).from(inputs.clone())).is_ok_and(|slots| slots == outputs));
    }
}

/// A consumer that depends on two others, as in the Disruptor's diamond: it starts number n when both have passed n.
#[test]
fn a_consumer_starts_after_those_it_depends_on() {
    const NUMBERS: u64 = 2000;
    for workers in 1..=3 {
        for ring in [1, 8, 1024] {
            let passed = [Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0))];
            let pass = |of: usize| {
                let passed = passed[of].clone();
                // It counts before its value is published.
                move |x: &u64| passed.fetch_max(*x + 1, Ordering::SeqCst)
            };
            let looks = passed.clone();
            let p = pipeline::<u64>()
                .fanout(|p| p, |p| p.fanout(|p| p.map(pass(0)), |p| p.map(pass(1))))
                .map(move |(n, _)| looks.iter().all(|passed| passed.load(Ordering::SeqCst) > *n));
            let started: Vec<bool> = Rings::new().ring(ring).workers(workers).collect(p.from(0..NUMBERS)).unwrap();
            assert_eq!(started.len() as u64, NUMBERS);
            assert!(started.iter().all(|after| *after), "ring {ring}, {workers} workers");
        }
    }
}

/// Values need no trait: enums, structs, generic types and nests of all of them flow as they are.
#[test]
fn any_type_flows() {
    #[derive(Debug, PartialEq)]
    enum Shape {
        Circle { radius: u32 },
        Nothing,
    }
    #[derive(Debug, PartialEq)]
    struct Labelled<T, const N: usize> {
        label: String,
        of: [T; N],
    }
    type Nest = millstream_core::Either<(Shape, Labelled<u8, 2>), Option<Box<Labelled<Shape, 1>>>>;
    fn nest(n: &u32) -> Nest {
        let shape = || if n.is_multiple_of(3) { Shape::Nothing } else { Shape::Circle { radius: *n } };
        if n.is_multiple_of(2) {
            Left((shape(), Labelled { label: n.to_string(), of: [*n as u8; 2] }))
        } else {
            Right(Some(Box::new(Labelled { label: n.to_string(), of: [shape()] })))
        }
    }
    // None of the types is `Clone`: they are read in place, through shards, lanes and pairs.
    let p = pipeline::<u32>().shard(3, |p| p.map(nest)).fanout(
        |p| p,
        |p| {
            p.merge(
                |p| {
                    p.shard(2, |p| {
                        p.both(|p| p.map(|shape| format!("{shape:?}")), |p| p.map(|l| format!("{l:?}")))
                            .map(|(a, b)| a.clone() + b)
                    })
                },
                |p| p.map(|boxed| format!("{boxed:?}")),
            )
        },
    );
    let p = p.map(|(nest, shown)| (format!("{nest:?}").len(), shown.clone()));
    let model = p.model(0..40);
    assert_eq!(model[1].1, "Some(Labelled { label: \"1\", of: [Circle { radius: 1 }] })");
    for workers in 1..=3 {
        assert_eq!(Rings::new().ring(8).workers(workers).collect((&p).from(0..40)), Ok(model.clone()));
    }
    assert_eq!(Inline::default().collect((&p).from(0..40)), Ok(model));
}
