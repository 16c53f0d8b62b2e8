//! Boxes: a pipeline whose type names only its input and output behaves as the pipeline in the box.

use millstream_core::{
    Arrow, ChoiceExt, ClockExt, Dense, Density, Either, Lane, Model, Sparse, StreamsExt, Val, id, pipeline,
};
use millstream_exec::{
    BoxEverywhere, BoxEverywhereExt, BoxExt, BoxPipeline, FreePipe, Inline, JobRefExt, PurePipe, Queues, QuietPipe,
    Rings, Runner,
};

type Numbers<D, Known> = BoxEverywhere<Val<u64>, Val<u64, D>, Known>;

/// The slots of a box on every deployment, which must all be equal.
#[track_caller]
fn slots<D: Density, Known: 'static>(p: &Numbers<D, Known>, n: u64) -> Vec<Option<u64>> {
    let model = Model.collect_slots(p.from(0..n)).unwrap();
    assert_eq!(Inline::new(Rings::new().ring(2)).collect_slots(p.from(0..n)).unwrap(), model);
    assert_eq!(Rings::new().workers(2).ring(1).collect_slots(p.from(0..n)).unwrap(), model);
    assert_eq!(Queues::new().capacity(1).collect_slots(p.from(0..n)).unwrap(), model);
    model
}

fn values(numbers: impl IntoIterator<Item = u64>) -> Vec<Option<u64>> {
    numbers.into_iter().map(Some).chain([None]).collect()
}

#[test]
fn a_box_runs_everywhere_alone_and_as_a_body() {
    let double: Numbers<Dense, PurePipe> = pipeline::<u64>().map(|x| x * 2).boxed_everywhere_as();
    assert_eq!(slots(&double, 50), values((0..50).map(|x| x * 2)));

    let body = double.clone();
    let sharded: Numbers<Dense, PurePipe> = pipeline::<u64>().shard(3, move |p| p.then(body)).boxed_everywhere_as();
    assert_eq!(slots(&sharded, 50), values((0..50).map(|x| x * 2)));

    let sum = |sum: &mut u64, x: &u64| {
        *sum += x;
        *sum
    };
    type InLane = Val<u64, Lane<Dense>>;
    let running: BoxEverywhere<InLane, InLane, QuietPipe> = id::<InLane>().scan(0, sum).boxed_everywhere_as();
    let parity = |x: &u64| if x.is_multiple_of(2) { Either::Left(*x) } else { Either::Right(*x) };
    let lanes =
        pipeline::<u64>().map(parity).merge(move |l| l.map(|x| *x).then(running), |r| r.map(|x| *x)).map(|x| *x);
    assert_eq!(slots(&lanes.boxed_everywhere(), 6), values([0, 1, 2, 3, 6, 5]));
}

/// A stage that ends the stream does so at the outer level and in no body, boxed or not.
#[test]
fn a_box_ends_the_stream_at_the_outer_level_only() {
    let taken: Numbers<Sparse, _> = pipeline::<u64>().take(3).map(|x| *x).boxed_everywhere();
    assert_eq!(slots(&taken, 6), values(0..3));
    let beside = pipeline::<u64>().fanout(|p| p, move |p| p.then(taken)).map(|(x, y)| x + y);
    let expected = [Some(0), Some(2), Some(4), None, None, None, None];
    assert_eq!(slots(&beside.boxed_everywhere(), 6), expected);

    let repeated: Numbers<Sparse, FreePipe> =
        pipeline::<u64>().flat_map(|x| vec![*x; 2]).take(3).map(|x| *x).boxed_everywhere_as();
    assert_eq!(slots(&repeated, 6), values([0, 0, 1]));
}

/// A box that queues cannot run requires nothing of its values.
#[test]
fn values_that_are_not_clone_fit_into_a_box() {
    struct Token(u64);
    let tokens: BoxPipeline<Val<u64>, Val<Token>> = pipeline::<u64>().map(|x| Token(*x)).boxed();
    let p: Vec<BoxPipeline<Val<u64>, Val<u64>>> =
        vec![tokens.map(|token| token.0 + 1).boxed(), pipeline().delay(7).boxed()];
    let all = p.into_iter().reduce(|p, q| p.then(q).boxed()).unwrap();
    assert_eq!(Rings::new().collect((&all).from(0..4)).unwrap(), [7, 1, 2, 3]);
}
