//! The notation compared with the methods: the same plan and the same output.

use millstream_core::pipe::Id;
use millstream_core::{
    Arrow, ChoiceExt, Density, Deploy, Either, Item, KeepsClock, Model, ModelExt, PartsExt, Shardable, ToOwnedItem,
    Val, id, pipeline,
};
use std::fmt::Debug;

/// Both have the same plan, and the same slots for inputs of every length up to 9.
fn assert_same<P, Q, T>(notation: &P, methods: &Q)
where
    P: ModelExt<u64, Out: ToOwnedItem<Owned = T>>,
    Q: ModelExt<u64, Out: ToOwnedItem<Owned = T>>,
    T: PartialEq + Debug,
{
    assert_eq!(notation.plan(), methods.plan());
    for length in 0..10 {
        assert_eq!(notation.model_slots(0..length), methods.model_slots(0..length));
    }
}

fn numbers() -> Id<Val<u64>> {
    pipeline()
}

fn times<D: Density>(n: u64) -> impl Deploy<Model, In = Val<u64, D>, Out = Val<u64, D>> + Shardable {
    id::<Val<u64, D>>().map(move |x| x * n)
}

fn judged(x: &u64) -> Either<u64, String> {
    if x.is_multiple_of(3) { Either::Left(*x) } else { Either::Right(x.to_string()) }
}

#[test]
fn every_operator_is_its_method() {
    assert_same(&pipeline!(numbers() >>> times(3)), &numbers().then(times(3)));
    assert_same(&pipeline!(numbers() >>> id() &&& times(3)), &numbers().fanout(|p| p, |p| p.then(times(3))));
    assert_same(
        &pipeline!(numbers() >>> .map(|x| (*x, x.to_string())) >>> .map(|x| x + 1) *** .map(String::len)),
        &numbers().map(|x| (*x, x.to_string())).both(|p| p.map(|x| x + 1), |p| p.map(String::len)),
    );
    assert_same(
        &pipeline!(numbers() >>> .map(judged) >>> .map(|x| x + 1) +++ |p| p.map(String::len)),
        &numbers().map(judged).choose(|p| p.map(|x| x + 1), |p| p.map(String::len)),
    );
    assert_same(
        &pipeline!(numbers() >>> .map(judged) >>> .map(|x| *x as usize) ||| .map(String::len)),
        &numbers().map(judged).merge(|p| p.map(|x| *x as usize), |p| p.map(String::len)),
    );
}

#[test]
fn a_fan_out_binds_tighter_than_a_sequence() {
    let p = pipeline!(times(2) &&& times(3) >>> .map(|(x, y)| x + y));
    assert_same(&p, &numbers().fanout(|p| p.then(times(2)), |p| p.then(times(3))).map(|(x, y)| x + y));
    assert_same(&p, &pipeline!((times(2) &&& times(3)) >>> .map(|(x, y)| x + y)));
    assert_eq!(p.model([1, 2]), [5, 10]);
    let inside = pipeline!(numbers() >>> times(2) &&& (times(3) >>> times(5)));
    assert_eq!(inside.model([1]), [(2, 15)]);
}

#[test]
fn pairs_nest_to_the_right_and_choices_bind_looser_than_fan_outs() {
    let p = pipeline!(numbers() >>> times(1) &&& times(2) &&& times(3));
    assert_eq!(p.model([1]), [(1, (2, 3))]);
    let q = pipeline!(numbers() >>> (times(1) &&& times(2)) &&& times(3));
    assert_eq!(q.model([1]), [((1, 2), 3)]);
    let lanes = pipeline!(
        numbers() >>> .map(judged)
            >>> .map(|x| x + 1) &&& .map(|x| x * 2) +++ .map(String::len) &&& .map(|s| s == "1")
            >>> .map(|x| x.map_either(|(a, b)| a + b, |(length, one)| (*length, *one)))
    );
    assert_eq!(lanes.model([3, 1]), [Either::Left(10), Either::Right((1, true))]);
}

#[test]
fn operands_are_any_expressions() -> Result<(), std::num::ParseIntError> {
    let parsed = times("3".parse::<u64>()?);
    let edge = "not the edge of the notation";
    let many = false;
    let p = pipeline!(
        { numbers().map(|x| x >> 1) }
            >>> parsed
            >>> if many { times(100) } else { times(1 + 2 * 3) }
            >>> |p: Id<Val<u64>>| p.map(|x| { let less = *x < 100; (*x, less) })
            >>> (.map(|x| x + 1) *** id()).named("half").map(move |(x, less)| (*x, *less, edge.len()))
            >>> |p| pipeline!(p >>> .map(|(x, less, _)| if *less { *x } else { 0 }))
    );
    assert_same(
        &p,
        &numbers()
            .map(|x| x >> 1)
            .then(times(3))
            .then(times(7))
            .map(|x| (*x, *x < 100))
            .both(|p| p.map(|x| x + 1), |p| p)
            .named("half")
            .map(move |(x, less)| (*x, *less, edge.len()))
            .map(|(x, less, _)| if *less { *x } else { 0 }),
    );
    Ok(())
}

#[test]
fn bodies_can_use_it_and_other_macros_can_pass_it_on() {
    macro_rules! twice {
        ($f:expr) => {
            pipeline!(numbers() >>> $f &&& $f)
        };
    }
    macro_rules! as_it_is {
        ($($notation:tt)*) => { pipeline!($($notation)*) };
    }
    assert_same(&twice!(times(2)), &numbers().fanout(|p| p.then(times(2)), |p| p.then(times(2))));
    assert_same(&twice!(|p| p.map(|x| x + 1)), &numbers().fanout(|p| p.map(|x| x + 1), |p| p.map(|x| x + 1)));
    assert_same(&as_it_is!(times(2) &&& times(3) >>> .firsts()), &pipeline!(times(2) &&& times(3) >>> .firsts()));
    assert_same(
        &pipeline!(numbers() >>> .shard(2, |p| pipeline!(p >>> times(2) &&& times(3)))),
        &numbers().shard(2, |p| p.fanout(|p| p.then(times(2)), |p| p.then(times(3)))),
    );
}

/// A function of any edge whose values can be shown.
fn shown<T: Item + Debug>(p: Id<Val<T>>) -> impl Deploy<Model, In = Val<T>, Out = Val<String>> + KeepsClock {
    p.map(|x| format!("{x:?}"))
}

#[test]
fn functions_of_an_edge_are_called_in_place() {
    let p = pipeline!(numbers() >>> |p| shown(p) >>> |p| shown(p) &&& .map(String::len));
    assert_eq!(p.model([7]), [("\"7\"".to_owned(), 1)]);
}
