//! Boxes: a pipeline whose type names only its input and output behaves as the pipeline in the box.

use millstream_core::{
    AnyEdge, Arrow, ChoiceExt, ClockExt, Dense, Density, Either, Lane, Model, Pair, PartsExt, Sparse, StreamsExt,
    TryMapExt, Val, id, pipeline,
};
use millstream_exec::{
    BoxEverywhere, BoxEverywhereExt, BoxExact, BoxExt, BoxPipeline, BoxStage, EveryShape, FreePipe, Inline, JobRefExt,
    OnQueues, PurePipe, Queues, QuietPipe, Rings, Runner,
};

type Numbers<D, Known> = BoxExact<Val<u64>, Val<u64, D>, OnQueues<Known>>;

/// The slots of a box on every deployment, which must all be equal.
#[track_caller]
fn slots<B, Known>(p: &BoxExact<Val<u64>, B, OnQueues<Known>>, n: u64) -> Vec<Option<u64>>
where
    B: EveryShape<Owned = u64>,
    Known: millstream_exec::BoxKind,
{
    let model = Model.collect_slots(p.from(0..n)).unwrap();
    assert_eq!(Inline::new(Rings::new().ring(2)).collect_slots(p.from(0..n)).unwrap(), model);
    assert_eq!(Rings::new().workers(2).ring(1).collect_slots(p.from(0..n)).unwrap(), model);
    assert_eq!(Queues::new().capacity(1).collect_slots(p.from(0..n)).unwrap(), model);
    model
}

fn values(numbers: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
    numbers.into_iter().map(Some).chain([None]).collect()
}

fn sum(sum: &mut u64, x: &u64) -> u64 {
    *sum += x;
    *sum
}

fn parity(x: &u64) -> Either<u64, u64> {
    if x.is_multiple_of(2) { Either::Left(*x) } else { Either::Right(*x) }
}

#[test]
fn a_box_runs_everywhere_alone_and_as_a_body() {
    let double: Numbers<Dense, PurePipe> = pipeline::<u64>().map(|x| x * 2).boxed_exact();
    assert_eq!(slots(&double, 50), values((0..50).map(|x| x * 2)));

    let body = double.clone();
    let sharded: Numbers<Dense, PurePipe> = pipeline::<u64>().shard(3, move |p| p.then(body)).boxed_exact();
    assert_eq!(slots(&sharded, 50), values((0..50).map(|x| x * 2)));

    type InLane = Val<u64, Lane<Dense>>;
    let running: BoxExact<InLane, InLane, OnQueues<QuietPipe>> = id::<InLane>().scan(0, sum).boxed_exact();
    let lanes =
        pipeline::<u64>().map(parity).merge(move |l| l.map(|x| *x).then(running), |r| r.map(|x| *x)).map(|x| *x);
    assert_eq!(slots(&lanes.boxed_everywhere(), 6), values([0, 1, 2, 3, 6, 5]));
}

/// A stage that ends the stream does so at the outer level and in no body, boxed or not.
#[test]
fn a_box_ends_the_stream_at_the_outer_level_only() {
    let taken: Numbers<Sparse, millstream_exec::AnyPipe> = pipeline::<u64>().take(3).map(|x| *x).boxed_exact();
    assert_eq!(slots(&taken, 6), values(0..3));
    let beside = pipeline::<u64>().fanout(|p| p, move |p| p.then(taken)).map(|(x, y)| x + y);
    let expected = [Some(0), Some(2), Some(4), None, None, None, None];
    assert_eq!(slots(&beside.boxed_everywhere(), 6), expected);

    let repeated: BoxEverywhere<u64, u64, FreePipe> =
        pipeline::<u64>().flat_map(|x| vec![*x; 2]).take(3).map(|x| *x).boxed_as();
    assert_eq!(slots(&repeated, 6), values([0, 0, 1]));
}

/// A box that queues cannot run requires nothing of its values, and copies none.
#[test]
fn values_that_are_not_clone_fit_into_a_box() {
    struct Token(u64);
    let tokens: BoxPipeline<u64, Token> = pipeline::<u64>().map(|x| Token(*x)).boxed();
    let even: BoxPipeline<u64, Token> = tokens.filter(|token| token.0.is_multiple_of(2)).boxed();
    let p: Vec<BoxStage<u64, u64>> = vec![id::<AnyEdge<u64>>().delay(7).boxed(), id::<AnyEdge<u64>>().boxed()];
    let all = p.into_iter().reduce(|p, q| p.then(q).boxed()).unwrap();
    let p = even.map(|token| token.0 + 1).any_edge().then(all);
    assert_eq!(Rings::new().collect((&p).from(0..6)).unwrap(), [7, 1, 3]);
}

/// A step of a configuration.
#[derive(Clone, Copy, Debug)]
enum Step {
    Next,
    Even,
    Changes,
    NotThree,
    Letters,
    Lanes,
    Running,
    Total,
}

fn built(steps: &[Step]) -> BoxEverywhere<u64, u64> {
    steps.iter().fold(pipeline::<u64>().boxed_everywhere(), |p, step| match step {
        Step::Next => p.map(|x| x + 1).boxed_everywhere(),
        Step::Even => p.filter(|x| x.is_multiple_of(2)).boxed_everywhere(),
        Step::Changes => p.dedup().boxed_everywhere(),
        Step::NotThree => p.try_map_or_empty(|x| if *x == 3 { Err("three") } else { Ok(*x) }).boxed_everywhere(),
        Step::Letters => {
            p.try_map_or_dead_letter("odd", |x| if x % 2 == 1 { Err("odd") } else { Ok(*x) }, |_| ()).boxed_everywhere()
        }
        Step::Lanes => p.map(parity).merge(|l| l.map(|x| x / 2), |r| r.filter(|x| x % 3 != 0)).boxed_everywhere(),
        Step::Running => p.scan(0, sum).boxed_everywhere(),
        Step::Total => p.fold(0, |n, x| *n += x, |n| n).boxed_everywhere(),
    })
}

/// The same steps on a list.
fn listed(steps: &[Step], n: u64) -> Vec<u64> {
    steps.iter().fold((0..n).collect(), |list: Vec<u64>, step| match step {
        Step::Next => list.into_iter().map(|x| x + 1).collect(),
        Step::Even | Step::Letters => list.into_iter().filter(|x| x % 2 == 0).collect(),
        Step::Changes => {
            let mut list = list;
            list.dedup();
            list
        }
        Step::NotThree => list.into_iter().filter(|x| *x != 3).collect(),
        Step::Lanes => {
            let one = |x| if x % 2 == 0 { Some(x / 2) } else { Some(x).filter(|x| x % 3 != 0) };
            list.into_iter().filter_map(one).collect()
        }
        Step::Running => list.iter().scan(0, |n, x| Some(sum(n, x))).collect(),
        Step::Total => vec![list.iter().sum()],
    })
}

/// All pairs of steps, some of them after others: every layout of an edge is read by every stage.
#[test]
fn steps_of_a_configuration_are_boxes_of_one_type() {
    use Step::{Changes, Even, Lanes, Letters, Next, NotThree, Running, Total};
    for first in [Next, Even, Changes, NotThree, Letters, Lanes, Running, Total] {
        for second in [Next, Even, Changes, NotThree, Letters, Lanes, Running, Total] {
            let steps = [Lanes, first, second, Even, Running];
            let found: Vec<u64> = slots(&built(&steps), 20).into_iter().flatten().collect();
            assert_eq!(found, listed(&steps, 20), "{steps:?}");
        }
    }
}

#[test]
fn a_box_of_any_edge_is_a_body_and_has_parts() {
    let even: BoxStage<u64, u64, OnQueues<PurePipe>> = id::<AnyEdge<u64>>().filter(|x| x % 2 == 0).boxed_as();
    let (sharded, beside, in_lane) = (even.clone(), even.clone(), even);
    let p = pipeline::<u64>()
        .any_edge()
        .shard(3, move |p| p.then(sharded))
        .fanout(|p| p.map(|x| x / 2).any_edge().then(beside), |p| p)
        .map(|(half, x)| if half % 4 == 0 { Either::Left(half + x) } else { Either::Right((*x, *x)) })
        .any_edge()
        .merge(move |l| l.any_edge().then(in_lane), |r| r.firsts().any_edge());
    let expected = (0..50).map(|x| (x % 4 == 0).then(|| if x % 8 == 0 { x / 2 + x } else { x }));
    let expected: Vec<_> = expected.chain([None]).collect();
    assert_eq!(slots(&p.boxed_everywhere(), 50), expected);
}

/// What is not one item has a box of its exact shape.
#[test]
fn pairs_fit_into_exact_boxes() {
    let p: BoxExact<Val<u64>, Pair<Val<u64>, Val<u64>>> =
        pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x * x)).boxed_exact();
    assert_eq!(Rings::new().collect((&p).from(2..4)).unwrap(), [(2, 4), (3, 9)]);
    fn dense<D: Density>(_: &BoxExact<Val<u64>, Val<u64, D>>) -> bool {
        D::DENSE
    }
    assert!(dense(&pipeline::<u64>().map(|x| x + 1).boxed_exact()));
}
