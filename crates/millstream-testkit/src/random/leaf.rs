//! Single stages, on an edge of any shape.

use super::answer::answer;
use super::edge::{Boxed, Chain, then_called};
use super::fold_windows::fold_windows;
use super::kind::{Any, F, H, Kind, MAny, MF, MH, Mpff, Mtf, Pff, TF, Whole, with_kind};
use super::logs::Sinks;
use super::order::AnyOrder;
use super::row::row;
use super::shape::{Element, RandomShape, of_slot, of_value};
use super::steps::{expanded, finished, folded, kept, keyed, mapped, scanned, tried};
use super::stream::stream;
use super::text::{text, words};
use super::tree::Pipe;
use super::try_scan::try_scan;
use super::value::Value;
use super::windows::windows;
use millstream_core::pipe::DeadLetter;
use millstream_core::{
    Arrow, AsyncExt, BorrowedKeysExt, ChoiceExt, ClockExt, Dense, Density, Either, Filtered, KeysExt, PartsExt,
    StreamsExt, TryMapExt, Val, ViewExt, id,
};
use std::future::poll_fn;
use std::task::{Context, Poll};

/// The stage of a tree without bodies.
pub(crate) fn leaf(tree: &Pipe, input: Kind, sinks: &Sinks) -> Chain {
    leaf_called(tree, input, None, sinks)
}

/// As [`leaf`]; the stage with the state has this name, even if another stage follows it in its box.
pub(crate) fn leaf_called(tree: &Pipe, input: Kind, name: Option<&str>, sinks: &Sinks) -> Chain {
    let is_followed = match tree {
        Pipe::Park { .. } | Pipe::FoldBy { .. } | Pipe::FoldWindows(_) | Pipe::WindowsBy(_) => true,
        Pipe::TryScan { by, .. } => by.is_followed(),
        Pipe::Stream(stage) => stage.is_followed(),
        _ => false,
    };
    if let (Some(name), false) = (name, is_followed) {
        return leaf(tree, input, sinks).called(name.to_owned());
    }
    match *tree {
        Pipe::Id => Chain::empty(input),
        Pipe::Filter { modulus } => filter(modulus, input),
        Pipe::Stream(stage) => stream(stage, input, name),
        Pipe::Part => on_ring(input, |input| {
            let chain = Chain::empty(input);
            match input {
                Kind::Whole(Whole::F) => chain.then(Boxed::new(id::<F>().part(Value::inside).any_edge())),
                _ => chain.then(Boxed::new(id::<H>().part(Value::inside).any_edge())),
            }
        }),
        Pipe::Map { .. }
        | Pipe::Tuple
        | Pipe::Cloned
        | Pipe::FilterMap { .. }
        | Pipe::Scan { .. }
        | Pipe::Fold { .. }
        | Pipe::Delay { .. } => with_kind!(input, A => leaf_on::<A>(tree, input, sinks)),
        _ => on_ring(input, |input| match input {
            Kind::Whole(Whole::F) => special::<F>(tree, input, name, sinks),
            _ => special::<H>(tree, input, name, sinks),
        }),
    }
}

/// A stage after a ring of values, which is a copy if the edge is of another shape. Every stage reads all shapes
/// through the same readers. Therefore a few stages are tested on all shapes, and the others need not be compiled for
/// each.
pub(crate) fn on_ring(input: Kind, stage: impl FnOnce(Kind) -> Chain) -> Chain {
    if matches!(input, Kind::Whole(Whole::F | Whole::H)) {
        return stage(input);
    }
    let copied = copied(input);
    let stage = stage(copied.output);
    copied.followed_by(stage)
}

/// A stage that changes no value and writes one ring of values: dense if the edge is, and otherwise sparse, also in a
/// lane.
pub(crate) fn copied(input: Kind) -> Chain {
    with_kind!(input, A => written::<A, Value>(input))
}

/// A stage to one ring of tuples.
pub(crate) fn tuples(input: Kind) -> Chain {
    with_kind!(input, A => written::<A, (Value, Value)>(input))
}

/// A stage to one ring of choices.
pub(crate) fn choices(input: Kind) -> Chain {
    with_kind!(input, A => written::<A, Either<Value, Value>>(input))
}

/// A stage that writes elements of this type.
fn written<A: RandomShape, E: Element>(input: Kind) -> Chain {
    let chain = Chain::empty(input);
    if A::Density::DENSE {
        chain.then(Boxed::new(id::<A>().map(|slot| E::of(A::value(slot)))))
    } else {
        chain.then(Boxed::new(id::<A>().filter_map(|slot| Some(E::of(A::value(slot))))))
    }
}

fn leaf_on<A: RandomShape>(tree: &Pipe, input: Kind, sinks: &Sinks) -> Chain {
    let chain = Chain::empty(input);
    match *tree {
        Pipe::Map { plus } => {
            chain.then(Boxed::new(id::<A>().map(move |slot| of_slot::<A, _>(slot, |value| mapped(value, plus)))))
        }
        Pipe::Tuple => written::<A, (Value, Value)>(input),
        // For a choice in lanes, the shape is a ring of choices in a lane, which has no name.
        Pipe::Cloned if Whole::of::<Val<A::Owned, A::Density>>().is_none() => copied(input),
        Pipe::Cloned => chain.then(Boxed::new(id::<A>().cloned())),
        Pipe::FilterMap { modulus, plus } => {
            let stage = id::<A>().filter_map(move |slot| {
                of_slot::<A, _>(slot, |value| kept(value, modulus).then(|| mapped(value, plus)))
            });
            chain.then(Boxed::new(stage))
        }
        Pipe::Scan { start } => chain.then(Boxed::new(
            id::<A>().scan(Value::I(start), |state, slot| of_slot::<A, _>(slot, |value| scanned(state, value))),
        )),
        Pipe::Fold { start } => {
            let stage = id::<A>().fold(
                Value::I(start),
                |state, slot| of_slot::<A, _>(slot, |value| folded(state, value)),
                |state| state,
            );
            chain.then(Boxed::new(stage))
        }
        Pipe::Delay { first } => match Whole::of::<Val<A::Owned, A::Density>>() {
            // Its first value is a pair, which a ring of choices cannot hold.
            None | Some(Whole::EF | Whole::EH) => {
                let copied = copied(input);
                let delayed = leaf(tree, copied.output, sinks);
                copied.followed_by(delayed)
            }
            Some(_) => {
                let delay = id::<A>().delay(A::Owned::of(pair_of(first)));
                chain.then(Boxed::new(delay))
            }
        },
        _ => unreachable!("{tree} follows one ring of values"),
    }
}

/// A stage that follows one ring of values.
fn special<A: RandomShape>(tree: &Pipe, input: Kind, name: Option<&str>, sinks: &Sinks) -> Chain {
    let chain = Chain::empty(input);
    match *tree {
        Pipe::Swap => {
            let halves = id::<A>().map(|slot| of_slot::<A, _>(slot, Value::halves));
            chain.then(Boxed::new(halves.swap().map(|(a, b)| Value::pair(a.clone(), b.clone()))))
        }
        Pipe::MapOwned { plus } => {
            let stage = id::<A>().map_owned(move |owned| of_value(owned.into_value(), |value| mapped(value, plus)));
            chain.then(Boxed::new(stage))
        }
        Pipe::Partition { modulus } => {
            let lanes = id::<A>().partition(move |slot| of_slot::<A, _>(slot, |value| kept(value, modulus)));
            chain.then(Boxed::new(lanes.map(|lane| Value::lane(lane.map_either(A::value, A::value)))))
        }
        Pipe::ScanFinish { start } => {
            let step = |state: &mut Value, slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| scanned(state, value));
            chain.then(Boxed::new(id::<A>().scan_finish(Value::I(start), step, finished)))
        }
        Pipe::FoldWindows(of) => fold_windows::<A>(of, input, name),
        Pipe::TryScan { start, modulus, by } => try_scan::<A>(start, modulus, (by, name), input, sinks),
        Pipe::Row(of) => row::<A>(of, input),
        Pipe::Answer(of) => answer::<A>(of, input),
        Pipe::Fork => {
            let twice = id::<A>().map(|slot| A::value(slot)).fork();
            chain.then(Boxed::new(twice.map(|(a, b)| Value::pair(a.clone(), b.clone()))))
        }
        Pipe::Distribute => {
            let pairs = id::<A>().map(|slot| of_slot::<A, _>(slot, Value::halves)).second(|b| b.map(Value::either));
            let lanes = pairs.distribute().map(|lane| {
                let pair = |(a, b): (&Value, &Value)| Value::pair(a.clone(), b.clone());
                Value::lane(lane.map_either(pair, pair))
            });
            chain.then(Boxed::new(lanes))
        }
        Pipe::Maybe => {
            let every = id::<A>().maybe().map(|slot| slot.map_or(Value::I(-7), A::value));
            chain.then(Boxed::new(every))
        }
        Pipe::DeadEnd => {
            let nothing = id::<A>().map(|slot| A::value(slot)).dead_end();
            chain.then(Boxed::new(nothing.map(Value::clone)))
        }
        Pipe::Fail { modulus } => {
            let stage = id::<A>().map(move |slot| {
                let value = A::value(slot);
                assert!(kept(&value, modulus), "fails at {value:?}");
                value
            });
            chain.then(Boxed::new(stage))
        }
        Pipe::Firsts => chain.then(Boxed::new(id::<A>().map(|slot| of_slot::<A, _>(slot, Value::first)))),
        Pipe::Seconds => chain.then(Boxed::new(id::<A>().map(|slot| of_slot::<A, _>(slot, Value::second)))),
        Pipe::MapBlocking { plus } => chain
            .then(Boxed::new(id::<A>().map_blocking(move |slot| of_slot::<A, _>(slot, |value| mapped(value, plus))))),
        Pipe::MapAsync { limit, plus } => {
            let stage = id::<A>().map_async(limit, move |slot| mapped_later(A::value(slot), plus));
            chain.then(Boxed::new(stage))
        }
        Pipe::TryMap { modulus, plus } => {
            let stage =
                id::<A>().try_map_or_empty(move |slot| of_slot::<A, _>(slot, |value| tried(value, modulus, plus)));
            chain.then(Boxed::new(stage))
        }
        Pipe::TryMapOrError(modulus, plus) => {
            let judge = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| tried(value, modulus, plus));
            let stage = id::<A>().try_map_or_error(judge).filter_map(|output| output.as_ref().ok().cloned());
            chain.then(Boxed::new(stage))
        }
        Pipe::DeadLetter { modulus, plus } => {
            let judge = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| tried(value, modulus, plus));
            let letters = sinks.letters();
            let note = move |dead: DeadLetter<'_, A::Owned, &'static str>| letters.note(dead.number, dead.fault);
            let stage = id::<A>().try_map_or_dead_letter("dead", judge, note);
            // Clones the values of the success lane into a ring, for the next stage.
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
        Pipe::DeadLetterAsync(limit, modulus, plus) => {
            let judge = move |slot: A::Ref<'_>| tried_later(A::value(slot), modulus, plus);
            let letters = sinks.letters();
            let note = move |dead: DeadLetter<'_, A::Owned, &'static str>| letters.note(dead.number, dead.fault);
            let stage = id::<A>().try_map_async_or_dead_letter(limit, "late", judge, note);
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
        Pipe::Park { keys, modulus, plus } => {
            let judge = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| tried(value, modulus, plus));
            let key = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| keyed(value, keys));
            let letters = sinks.letters();
            let note = move |dead: DeadLetter<'_, A::Owned, &'static str>| letters.note(dead.number, dead.fault);
            let stage = id::<A>().try_map_or_park(name.unwrap_or("park"), key, judge, note);
            chain.then(Boxed::new(stage.filter_map(|value| Some(value.clone()))))
        }
        Pipe::FoldBy { keys, start } => {
            let key = move |slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| keyed(value, keys));
            let fold = |state: &mut Value, slot: A::Ref<'_>| of_slot::<A, _>(slot, |value| folded(state, value));
            let pair = |(key, answer): &(Value, Value)| Value::pair(key.clone(), answer.clone());
            let list = move |answers: &Vec<(Value, Value)>| Value::List(answers.iter().map(pair).collect());
            if keys == 0 {
                let values = id::<A>().map(|slot| A::value(slot));
                let answers = values.fold_by_ref(|value| value, Value::I(start), folded, |state| state);
                return then_called!(chain, name, answers, |answers| Boxed::new(answers.map(list)));
            }
            let answers = id::<A>().fold_by(key, Value::I(start), fold, |state| state);
            then_called!(chain, name, answers, |answers| Boxed::new(answers.map(list)))
        }
        Pipe::Text { .. } => text::<A>(tree, input),
        Pipe::Words { .. } => words::<A>(tree, input),
        _ => renumbering::<A>(tree, input, name, sinks),
    }
}

fn renumbering<A: RandomShape>(tree: &Pipe, input: Kind, name: Option<&str>, sinks: &Sinks) -> Chain {
    let chain = Chain::empty(input);
    match *tree {
        Pipe::FlatMap { modulus } => {
            let stage = id::<A>().flat_map(move |slot| of_slot::<A, _>(slot, |value| expanded(value, modulus)));
            chain.then(Boxed::free(stage))
        }
        Pipe::FlatScan { modulus, finish } => {
            let step = move |state: &mut Value, slot: A::Ref<'_>| {
                let output = of_slot::<A, _>(slot, |value| scanned(state, value));
                of_value(output, |output| expanded(output, modulus))
            };
            match finish {
                false => chain.then(Boxed::free(id::<A>().flat_scan(Value::I(modulus), step))),
                true => chain.then(Boxed::free(id::<A>().flat_scan_finish(Value::I(modulus), step, move |state| {
                    of_value(state, |state| expanded(state, modulus + 2))
                }))),
            }
        }
        Pipe::Flatten => {
            let parts = id::<A>().map(|slot| of_slot::<A, _>(slot, Value::parts));
            chain.then(Boxed::free(parts.flatten()))
        }
        Pipe::Compact if Whole::of::<Val<A::Owned, Dense>>().is_some() => chain.then(Boxed::free(id::<A>().compact())),
        Pipe::Compact => {
            let copied = copied(input);
            let compacted = leaf(tree, copied.output, sinks);
            copied.followed_by(compacted)
        }
        Pipe::Unordered { limit, plus } => {
            let stage = id::<A>().unordered(limit, move |slot| mapped_later(A::value(slot), plus));
            chain.then(Boxed::free(AnyOrder(stage)))
        }
        Pipe::WindowsBy(of) => windows::<A>(of, input, name),
        _ => unreachable!("{tree} is not one stage"),
    }
}

/// As [`Pipe::Map`], after other futures have had their turn. Some values yield more often than others.
async fn mapped_later(value: Value, plus: i64) -> Value {
    give_way(value.digest().rem_euclid(5)).await;
    of_value(value, |value| mapped(value, plus))
}

/// As [`Pipe::TryMap`], after other futures have had their turn. What is to fail fails at its first poll or later.
async fn tried_later(value: Value, modulus: i64, plus: i64) -> Result<Value, &'static str> {
    give_way(value.digest().rem_euclid(5)).await;
    of_value(value, |value| tried(value, modulus, plus))
}

/// Returns `Pending` this many times.
async fn give_way(mut times: i64) {
    let pending = |cx: &mut Context<'_>| {
        if times == 0 {
            return Poll::Ready(());
        }
        times -= 1;
        cx.waker().wake_by_ref();
        Poll::Pending
    };
    poll_fn(pending).await;
}

/// The first value of a delay: the same in a ring of values and in a ring of tuples.
fn pair_of(i: i64) -> Value {
    let (first, second) = Value::I(i).halves();
    Value::pair(first, second)
}

/// A filter. It follows a copy if random pipelines do not have the filtered shape of its input.
fn filter(modulus: i64, input: Kind) -> Chain {
    fn on<A: RandomShape>(modulus: i64) -> Boxed<A, Filtered<A>> {
        Boxed::new(id::<A>().filter(move |slot| kept(&A::value(slot), modulus)))
    }
    let chain = Chain::empty(input);
    match input {
        Kind::Whole(Whole::F) => chain.then::<F, MF, _>(on(modulus)),
        Kind::Whole(Whole::H) => chain.then::<H, MH, _>(on(modulus)),
        Kind::Whole(Whole::TF) => chain.then::<TF, Mtf, _>(on(modulus)),
        Kind::Whole(Whole::Pff) => chain.then::<Pff, Mpff, _>(on(modulus)),
        Kind::Whole(Whole::Any) => chain.then::<Any, MAny, _>(on(modulus)),
        _ => {
            let copied = copied(input);
            let filtered = filter(modulus, copied.output);
            copied.followed_by(filtered)
        }
    }
}
