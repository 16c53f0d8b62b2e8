//! One stage, on an edge of any shape.

use super::edge::Chain;
use super::kind::{F, H, Kind, MF, MH, Mpff, Mtf, Pff, TF, Whole, with_kind};
use super::shape::{Element, Shape};
use super::tree::{Pipe, folded, kept, mapped, scanned};
use super::value::Value;
use millstream_core::{Arrow, Density, Flow, Masked, id};
use millstream_exec::BoxPipeline;

/// The stage of a tree without bodies.
pub(crate) fn leaf(tree: &Pipe, input: Kind) -> Chain {
    match *tree {
        Pipe::Id => Chain::empty(input),
        Pipe::Filter { modulus } => filter(modulus, input),
        _ => with_kind!(input, A => leaf_on::<A>(tree, input)),
    }
}

/// A map to one ring of values that changes no value.
pub(crate) fn copied(input: Kind) -> Chain {
    with_kind!(input, A => {
        let copy = BoxPipeline::new(id::<A>().map(|slot| A::value(slot)));
        Chain::empty(input).then(copy, Kind::Whole(Whole::ring(is_full::<A>())))
    })
}

/// A map to one ring of tuples.
pub(crate) fn tuples(input: Kind) -> Chain {
    with_kind!(input, A => leaf_on::<A>(&Pipe::Tuple, input))
}

fn is_full<A: Flow>() -> bool {
    A::Density::FULL
}

fn leaf_on<A: Shape>(tree: &Pipe, input: Kind) -> Chain {
    let (chain, same) = (Chain::empty(input), Kind::Whole(Whole::ring(is_full::<A>())));
    match *tree {
        Pipe::Map { plus } => {
            chain.then(BoxPipeline::new(id::<A>().map(move |slot| mapped(&A::value(slot), plus))), same)
        }
        Pipe::Tuple => {
            let tuple = id::<A>().map(|slot| A::value(slot).halves());
            chain.then(BoxPipeline::new(tuple), Kind::Whole(Whole::tuples(is_full::<A>())))
        }
        Pipe::Fail { modulus } => {
            let stage = id::<A>().map(move |slot| {
                let value = A::value(slot);
                assert!(kept(&value, modulus), "fails at {value:?}");
                value
            });
            chain.then(BoxPipeline::new(stage), same)
        }
        Pipe::Fst => chain.then(BoxPipeline::new(id::<A>().map(|slot| A::value(slot).halves().0)), same),
        Pipe::Snd => chain.then(BoxPipeline::new(id::<A>().map(|slot| A::value(slot).halves().1)), same),
        Pipe::FilterMap { modulus, plus } => {
            let stage = id::<A>().filter_map(move |slot| {
                let value = A::value(slot);
                kept(&value, modulus).then(|| mapped(&value, plus))
            });
            chain.then(BoxPipeline::new(stage), Kind::Whole(Whole::H))
        }
        Pipe::MapBlocking { plus } => {
            chain.then(BoxPipeline::new(id::<A>().map_blocking(move |slot| mapped(&A::value(slot), plus))), same)
        }
        Pipe::TryMap { modulus, plus } => {
            let stage = id::<A>().try_map_or_empty(move |slot| tried(&A::value(slot), modulus, plus));
            chain.then(BoxPipeline::new(stage), Kind::Whole(Whole::H))
        }
        Pipe::Scan { start } => {
            chain.then(BoxPipeline::new(id::<A>().scan(start, |state, slot| scanned(state, &A::value(slot)))), same)
        }
        Pipe::Fold { start } => {
            let stage = id::<A>().fold(start, |state, slot| folded(state, &A::value(slot)), Value::I);
            chain.then(BoxPipeline::new(stage), Kind::Whole(Whole::H))
        }
        Pipe::Delay { first } => {
            let first = A::Owned::of(pair_of(first));
            chain.then(BoxPipeline::new(id::<A>().delay(first)), delayed::<A>())
        }
        _ => unreachable!("{tree} is not one stage"),
    }
}

/// What a [`Pipe::TryMap`] tries.
fn tried(value: &Value, modulus: i64, plus: i64) -> Result<Value, &'static str> {
    match kept(value, modulus) {
        true => Ok(mapped(value, plus)),
        // Unwinds as a panic does, without the message.
        false if plus % 2 == 1 => std::panic::resume_unwind(Box::new("odd")),
        false => Err("even"),
    }
}

/// What a delay begins with: the same in a ring of values and in a ring of tuples.
fn pair_of(i: i64) -> Value {
    let (first, second) = Value::I(i).halves();
    Value::pair(first, second)
}

/// The shape of a delay behind `A`: a ring of what `A` owns.
fn delayed<A: Shape>() -> Kind {
    let ring = if A::Owned::IS_TUPLE { Whole::tuples } else { Whole::ring };
    Kind::Whole(ring(is_full::<A>()))
}

/// A filter, behind a copy where the masked shape is none of those that random pipelines have.
fn filter(modulus: i64, input: Kind) -> Chain {
    fn on<A: Shape>(modulus: i64) -> BoxPipeline<A, Masked<A>> {
        BoxPipeline::new(id::<A>().filter(move |slot| kept(&A::value(slot), modulus)))
    }
    let chain = Chain::empty(input);
    match input {
        Kind::Whole(Whole::F) => chain.then::<F, MF>(on(modulus), Kind::Whole(Whole::MF)),
        Kind::Whole(Whole::H) => chain.then::<H, MH>(on(modulus), Kind::Whole(Whole::MH)),
        Kind::Whole(Whole::TF) => chain.then::<TF, Mtf>(on(modulus), Kind::Whole(Whole::Mtf)),
        Kind::Whole(Whole::Pff) => chain.then::<Pff, Mpff>(on(modulus), Kind::Whole(Whole::Mpff)),
        _ => {
            let copied = copied(input);
            let filtered = filter(modulus, copied.output);
            copied.followed_by(filtered)
        }
    }
}
