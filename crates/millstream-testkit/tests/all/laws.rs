//! The laws of the model, over random pipelines; and a counterexample for each law that is not claimed.
//!
//! Two pipelines are equal if they fill the same slots with the same values, END included, after any source.

use crate::random_cases;
use millstream_core::Either;
use millstream_testkit::random::Pipe::{
    Both, Choose, Compact, DeadEnd, DeadLetter, Delay, Fanout, Filter, FilterMap, Firsts, Fold, Id, Map, Merge, Scan,
    Seconds, Shard, Swap, TryMap,
};
use millstream_testkit::random::{Pipe, Stream, Value, pipes, streams, values};
use proptest::prelude::*;

fn slots(pipe: &Pipe, inputs: &[Value]) -> Vec<Option<Value>> {
    pipe.build().model_slots(inputs.to_vec())
}

fn list(pipe: &Pipe, inputs: &[Value]) -> Vec<Value> {
    slots(pipe, inputs).into_iter().flatten().collect()
}

fn then<const N: usize>(pipes: [&Pipe; N]) -> Pipe {
    let pipes = pipes.into_iter().cloned();
    pipes.reduce(|p, q| Pipe::Then(p.into(), q.into())).expect("at least one")
}

fn both(p: &Pipe, q: &Pipe) -> Pipe {
    Both(p.clone().into(), q.clone().into())
}

fn fanout(p: &Pipe, q: &Pipe) -> Pipe {
    Fanout(p.clone().into(), q.clone().into())
}

fn first(p: &Pipe) -> Pipe {
    both(p, &Id)
}

fn second(q: &Pipe) -> Pipe {
    both(&Id, q)
}

fn choose(p: &Pipe, q: &Pipe) -> Pipe {
    Choose(p.clone().into(), q.clone().into())
}

fn merge(p: &Pipe, q: &Pipe) -> Pipe {
    Merge(p.clone().into(), q.clone().into())
}

fn left(p: &Pipe) -> Pipe {
    choose(p, &Id)
}

fn right(q: &Pipe) -> Pipe {
    choose(&Id, q)
}

/// The same tree with its stages replaced.
fn stages(pipe: Pipe, other: &impl Fn(Pipe) -> Pipe) -> Pipe {
    let body = |p: Box<Pipe>| Box::new(stages(*p, other));
    match pipe {
        Pipe::Then(p, q) => Pipe::Then(body(p), body(q)),
        Fanout(p, q) => Fanout(body(p), body(q)),
        Pipe::FanoutAll(bodies) => Pipe::FanoutAll(bodies.into_iter().map(|p| stages(p, other)).collect()),
        Both(p, q) => Both(body(p), body(q)),
        Choose(p, q) => Choose(body(p), body(q)),
        Merge(p, q) => Merge(body(p), body(q)),
        Pipe::Tee(p) => Pipe::Tee(body(p)),
        Pipe::Block(block) => Pipe::Block(block.with_bodies(|p| stages(p, other))),
        Pipe::Feedback(start, p) => other(Pipe::Feedback(start, body(p))),
        Pipe::ShardBy { keys, most, k, body: p } => other(Pipe::ShardBy { keys, most, k, body: body(p) }),
        Shard(k, p) => Shard(k, body(p)),
        Pipe::Named(p) => Pipe::Named(body(p)),
        Pipe::Called(name, p) => Pipe::Called(name, body(p)),
        Pipe::Boxed(p) => Pipe::Boxed(body(p)),
        stage => other(stage),
    }
}

/// Without stages that fill a slot whose input is empty, and without those that depend on their position: `take` ends
/// only the outer level, and a number counts the empty slots before it.
fn without_folds(pipe: Pipe) -> Pipe {
    stages(pipe, &|stage| match stage {
        Fold { start } | Pipe::FoldBy { start, .. } | Pipe::ScanFinish { start } => Scan { start },
        Pipe::Answer(_) | Pipe::FoldWindows(_) => Scan { start: 1 },
        Pipe::Row(row) => Map { plus: row.plus },
        Pipe::Stream(Stream::Chunks(n)) => Pipe::Stream(Stream::Windows(n)),
        Pipe::Stream(Stream::Take(n)) => Pipe::Stream(Stream::Skip(n)),
        Pipe::Stream(Stream::TakeWhile(modulus)) => Pipe::Stream(Stream::SkipWhile(modulus)),
        Pipe::Stream(Stream::Enumerate) => Pipe::Stream(Stream::Inspect),
        // A lane cannot have it.
        Pipe::TeeTo | Pipe::Maybe => Id,
        stage => stage,
    })
}

fn without_empties(pipe: Pipe) -> Pipe {
    stages(without_folds(pipe), &|stage| match stage {
        Filter { modulus: plus } | FilterMap { plus, .. } | TryMap { plus, .. } => Map { plus },
        DeadLetter { plus, .. } | Pipe::Park { plus, .. } | Pipe::Text { plus, .. } => Map { plus },
        Pipe::TryMapOrError(_, plus) | Pipe::DeadLetterAsync(_, _, plus) => Map { plus },
        DeadEnd => Id,
        Pipe::TryScan { start, .. } => Scan { start },
        Pipe::Stream(Stream::MapM(_) | Stream::Inspect) => stage,
        Pipe::Stream(_) => Pipe::Stream(Stream::MapM(7)),
        stage => stage,
    })
}

fn without_states(pipe: Pipe) -> Pipe {
    stages(without_folds(pipe), &|stage| match stage {
        Scan { start: plus } | Delay { first: plus } | Pipe::TryScan { start: plus, .. } => Map { plus },
        Pipe::Stream(Stream::Skip(_) | Stream::SkipWhile(_)) => Filter { modulus: 3 },
        Pipe::Stream(_) => Map { plus: 5 },
        Pipe::Feedback(_, body) | Pipe::ShardBy { body, .. } => *body,
        Pipe::Park { modulus, plus, .. } => DeadLetter { modulus, plus },
        stage => stage,
    })
}

fn any_pipe() -> impl Strategy<Value = Pipe> {
    pipes(6)
}

/// Fills a slot only if its input is filled.
fn quiet() -> impl Strategy<Value = Pipe> {
    pipes(6).prop_map(without_folds)
}

/// Fills a slot whenever its input is filled.
fn dense() -> impl Strategy<Value = Pipe> {
    pipes(6).prop_map(without_empties)
}

fn stateless_and_quiet() -> impl Strategy<Value = Pipe> {
    pipes(6).prop_map(without_states)
}

fn inputs() -> impl Strategy<Value = Vec<Value>> {
    values(20)
}

/// Asserts that two pipelines are equal after a source that leaves its slots, END included, as `source` does.
macro_rules! equal {
    ($source:expr, $inputs:expr, $p:expr, $q:expr) => {{
        let (p, q) = (then([&$source, &$p]), then([&$source, &$q]));
        prop_assert_eq!(slots(&p, &$inputs), slots(&q, &$inputs), "{} and {}", p, q);
    }};
}

proptest! {
    #![proptest_config(random_cases())]

    #[test]
    fn composition_is_a_category_for_all_pipelines(
        s in streams(6), f in streams(6), g in streams(6), h in streams(6), xs in inputs(),
    ) {
        equal!(s, xs, then([&Id, &f]), f);
        equal!(s, xs, then([&f, &Id]), f);
        equal!(s, xs, then([&then([&f, &g]), &h]), then([&f, &then([&g, &h])]));
        equal!(s, xs, Pipe::Named(f.clone().into()), f);
        equal!(s, xs, Pipe::Boxed(f.clone().into()), f);
    }

    #[test]
    fn quiet_pipelines_keep_the_arrow_laws(s in any_pipe(), f in quiet(), g in quiet(), xs in inputs()) {
        let arr = Map { plus: 3 };
        equal!(s, xs, first(&then([&f, &g])), then([&first(&f), &first(&g)]));
        equal!(s, xs, second(&then([&f, &g])), then([&second(&f), &second(&g)]));
        equal!(s, xs, then([&first(&f), &Firsts]), then([&Firsts, &f]));
        equal!(s, xs, then([&second(&f), &Seconds]), then([&Seconds, &f]));
        equal!(s, xs, then([&first(&f), &second(&arr)]), then([&second(&arr), &first(&f)]));
        let swap = fanout(&Seconds, &Firsts);
        equal!(s, xs, then([&first(&f), &swap]), then([&swap, &second(&f)]));
        let assoc = fanout(&then([&Firsts, &Firsts]), &first(&Seconds));
        equal!(s, xs, then([&first(&first(&f)), &assoc]), then([&assoc, &first(&f)]));
    }

    #[test]
    fn functions_are_arrows(s in any_pipe(), plus in -9..9_i64, xs in inputs()) {
        let arr = Map { plus };
        equal!(s, xs, then([&first(&arr), &Firsts]), then([&Firsts, &arr]));
        equal!(s, xs, then([&first(&arr), &Seconds]), Seconds);
        equal!(s, xs, fanout(&Firsts, &Seconds), first(&Id));
        equal!(s, xs, then([&fanout(&Id, &Id), &Firsts]), Id);
    }

    #[test]
    fn quiet_pipelines_do_not_see_empties(s in any_pipe(), f in quiet(), xs in inputs()) {
        let compact = list(&s, &xs);
        prop_assert_eq!(list(&then([&s, &f]), &xs), list(&f, &compact), "compact.f and f.compact of {}", f);
        equal!(s, xs, then([&f, &Compact]), then([&Compact, &f, &Compact]));
    }

    #[test]
    fn dense_pipelines_commute_with_compact(s in any_pipe(), f in dense(), xs in inputs()) {
        equal!(s, xs, then([&f, &Compact]), then([&Compact, &f]));
        equal!(s, xs, then([&Compact, &Compact]), Compact);
    }

    #[test]
    fn a_new_clock_is_dense_and_composes_as_everything_does(
        s in streams(4), f in 1..4_i64, g in 1..4_i64, h in dense(), xs in inputs(),
    ) {
        let (f, g) = (Pipe::FlatMap { modulus: f }, Pipe::FlatMap { modulus: g });
        equal!(s, xs, then([&f, &then([&g, &h])]), then([&then([&f, &g]), &h]));
        equal!(s, xs, then([&Id, &f]), then([&Compact, &f]));
        equal!(s, xs, then([&f, &Compact]), f);
    }

    #[test]
    fn stateless_quiet_pipelines_keep_the_exchange_law(
        s in any_pipe(), f in stateless_and_quiet(), g in stateless_and_quiet(),
        h in stateless_and_quiet(), k in stateless_and_quiet(), xs in inputs(),
    ) {
        equal!(s, xs, both(&f, &g), then([&first(&f), &second(&g)]));
        equal!(s, xs, both(&f, &g), then([&second(&g), &first(&f)]));
        equal!(s, xs, then([&both(&f, &g), &both(&h, &k)]), both(&then([&f, &h]), &then([&g, &k])));
        equal!(s, xs, Shard(3, f.clone().into()), f);
    }

    #[test]
    fn every_key_has_the_body_for_itself(
        s in any_pipe(), f in quiet(), g in stateless_and_quiet(), keys in 1..5_i64, xs in inputs(),
    ) {
        let by = |keys, body: &Pipe| Pipe::ShardBy { keys, most: 5, k: 3, body: body.clone().into() };
        equal!(s, xs, by(1, &f), f);
        equal!(s, xs, by(keys, &g), g);
        let (all, key) = (slots(&by(keys, &f), &xs), |value: &Value| value.digest().rem_euclid(keys));
        for of in 0..keys {
            let given = xs.iter().zip(&all).filter(|(x, _)| key(x) == of).filter_map(|(_, slot)| slot.clone());
            let own: Vec<Value> = xs.iter().filter(|x| key(x) == of).cloned().collect();
            prop_assert_eq!(given.collect::<Vec<_>>(), list(&f, &own), "key {} of {}, {}", of, keys, f);
        }
    }

    #[test]
    fn dense_pipelines_keep_every_law(
        s in any_pipe(), f in dense(), g in dense(), h in dense(), k in dense(), xs in inputs(),
    ) {
        equal!(s, xs, then([&fanout(&f, &g), &Firsts]), f);
        equal!(s, xs, then([&fanout(&f, &g), &Seconds]), g);
        equal!(s, xs, fanout(&f, &g), then([&fanout(&Id, &Id), &both(&f, &g)]));
        equal!(s, xs, both(&f, &g), then([&first(&f), &second(&g)]));
        equal!(s, xs, both(&f, &g), then([&second(&g), &first(&f)]));
        equal!(s, xs, then([&both(&f, &g), &both(&h, &k)]), both(&then([&f, &h]), &then([&g, &k])));
        equal!(s, xs, then([&h, &fanout(&f, &g)]), fanout(&then([&h, &f]), &then([&h, &g])));
    }

    #[test]
    fn quiet_pipelines_keep_the_choice_laws(
        s in any_pipe(), f in quiet(), g in quiet(), h in quiet(), k in quiet(), xs in inputs(),
    ) {
        equal!(s, xs, left(&then([&f, &g])), then([&left(&f), &left(&g)]));
        equal!(s, xs, right(&then([&f, &g])), then([&right(&f), &right(&g)]));
        equal!(s, xs, choose(&f, &g), then([&left(&f), &right(&g)]));
        equal!(s, xs, choose(&f, &g), then([&right(&g), &left(&f)]));
        equal!(s, xs, then([&choose(&f, &g), &choose(&h, &k)]), choose(&then([&f, &h]), &then([&g, &k])));
        equal!(s, xs, then([&choose(&f, &g), &merge(&h, &k)]), merge(&then([&f, &h]), &then([&g, &k])));
        equal!(s, xs, merge(&f, &g), then([&choose(&f, &g), &merge(&Id, &Id)]));
    }

    /// Each lane on its own list, and the outputs in the order of the input.
    #[test]
    fn choices_satisfy_the_list_equations(f in dense(), g in dense(), xs in inputs()) {
        let lefts: Vec<Value> = xs.iter().filter_map(|x| x.either().left()).collect();
        let rights: Vec<Value> = xs.iter().filter_map(|x| x.either().right()).collect();
        let (mut lefts, mut rights) = (list(&f, &lefts).into_iter(), list(&g, &rights).into_iter());
        let merged: Vec<Value> = xs.iter().map(|x| match x.either() {
            Either::Left(_) => lefts.next().expect("one for each left value"),
            Either::Right(_) => rights.next().expect("one for each right value"),
        }).collect();
        prop_assert_eq!(list(&merge(&f, &g), &xs), merged);
    }

    #[test]
    fn the_small_shapes_are_maps(s in any_pipe(), xs in inputs()) {
        equal!(s, xs, Swap, fanout(&Seconds, &Firsts));
        equal!(s, xs, Pipe::Fork, fanout(&Id, &Id));
        equal!(s, xs, then([&Swap, &Swap]), Pipe::Tuple);
        let pairs = list(&Pipe::Distribute, &xs);
        for (x, distributed) in xs.iter().zip(pairs) {
            let (a, b) = x.halves();
            let pair = b.either().map_either(|b| Value::pair(a.clone(), b), |b| Value::pair(a.clone(), b));
            prop_assert_eq!(distributed, Value::lane(pair));
        }
        prop_assert_eq!(list(&then([&s, &DeadEnd]), &xs), []);
    }

    #[test]
    fn loops_keep_the_loop_laws(
        s in any_pipe(), f in any_pipe(), h in quiet(), g in dense(), start in 0..9_i64, xs in inputs(),
    ) {
        let looped = |body: &Pipe| Pipe::Feedback(start, body.clone().into());
        let (f, g, h) = (f.without_loops(), g.without_loops(), h.without_loops());
        equal!(s, xs, then([&h, &looped(&f)]), looped(&then([&first(&h), &f])));
        equal!(s, xs, looped(&then([&f, &first(&g)])), then([&looped(&f), &g]));
    }

    #[test]
    fn a_tee_changes_nothing(s in any_pipe(), f in any_pipe(), xs in inputs()) {
        equal!(s, xs, Pipe::Tee(f.into()), Id);
    }

    #[test]
    fn dense_pipelines_satisfy_the_list_equations(f in dense(), g in dense(), xs in inputs()) {
        let zipped = |a: Vec<Value>, b: Vec<Value>| -> Vec<Value> {
            a.into_iter().zip(b).map(|(a, b)| Value::pair(a, b)).collect()
        };
        prop_assert_eq!(list(&f, &xs).len(), xs.len());
        prop_assert_eq!(list(&Id, &xs), xs.clone());
        prop_assert_eq!(list(&then([&f, &g]), &xs), list(&g, &list(&f, &xs)));
        prop_assert_eq!(list(&fanout(&f, &g), &xs), zipped(list(&f, &xs), list(&g, &xs)));
        let (left, right): (Vec<Value>, Vec<Value>) = xs.iter().map(Value::halves).unzip();
        prop_assert_eq!(list(&both(&f, &g), &xs), zipped(list(&f, &left), list(&g, &right)));
        prop_assert_eq!(list(&Shard(2, Map { plus: 1 }.into()), &xs), list(&Map { plus: 1 }, &xs));
    }
}

/// The slots of both pipelines after the numbers 1 to 4; they must differ.
fn differ(p: &Pipe, q: &Pipe) -> [Vec<bool>; 2] {
    let xs: Vec<Value> = (1..=4).map(Value::I).collect();
    assert_ne!(slots(p, &xs), slots(q, &xs), "{p} and {q}");
    [p, q].map(|pipe| slots(pipe, &xs).iter().map(Option::is_some).collect())
}

const T: bool = true;
const O: bool = false;
const EVEN_DIGEST: Pipe = Filter { modulus: 2 };
const SUM: Pipe = Scan { start: 0 };
const FOLD: Pipe = Fold { start: 0 };

#[test]
fn with_empties_a_half_of_a_fanout_is_not_its_body() {
    let filled = differ(&then([&fanout(&Id, &EVEN_DIGEST), &Firsts]), &Id);
    assert_eq!(filled, [[T, O, T, O, O], [T, T, T, T, O]]);
}

#[test]
fn with_empties_and_states_both_is_not_first_and_second() {
    let (sum, keep) = (SUM, then([&Firsts, &EVEN_DIGEST]));
    let pairs = fanout(&Id, &fanout(&Id, &Id));
    let filled = differ(&then([&pairs, &both(&sum, &keep)]), &then([&pairs, &second(&keep), &first(&sum)]));
    assert_eq!(filled[0], filled[1], "the same slots, but the sum has seen other values");
}

#[test]
fn with_empties_and_states_there_is_no_exchange() {
    let (keep, pairs) = (then([&Firsts, &EVEN_DIGEST]), fanout(&Id, &fanout(&Id, &Id)));
    let filled = differ(
        &then([&pairs, &both(&Id, &keep), &both(&SUM, &Id)]),
        &then([&pairs, &both(&then([&Id, &SUM]), &then([&keep, &Id]))]),
    );
    assert_eq!(filled[0], filled[1]);
}

#[test]
fn first_of_a_fold_has_no_first_half() {
    let filled = differ(&then([&first(&FOLD), &Firsts]), &then([&Firsts, &FOLD]));
    assert_eq!(filled, [[O, O, O, O, O], [O, O, O, O, T]]);
}

/// END holds a value here, which the first stage leaves out and the fold does not need.
#[test]
fn first_of_a_fold_after_another_is_not_first_of_each() {
    let nothing = Filter { modulus: 1 };
    let filled =
        differ(&then([&FOLD, &first(&then([&nothing, &FOLD]))]), &then([&FOLD, &first(&nothing), &first(&FOLD)]));
    assert_eq!(filled, [[O, O, O, O, T], [O, O, O, O, O]]);
}

#[test]
fn a_fold_beside_its_input_sees_empties() {
    let (xs, f) = ([Value::I(1), Value::I(2)], fanout(&FOLD, &Id));
    let compact = list(&FOLD, &xs);
    assert_eq!(list(&then([&FOLD, &f]), &xs).len(), 1);
    assert_eq!(list(&f, &compact).len(), 0);
}
