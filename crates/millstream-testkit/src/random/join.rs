//! Combinators with bodies, on edges of any shape.

use super::edge::{Boxed, Chain};
use super::kind::{
    Any, F, H, Kind, LF, MAny, MF, MH, N, Ohh, Oll, Pff, Phh, TF, TH, Whole, with_halved, with_kind, with_laned,
    with_pair,
};
use super::leaf::{choices, copied, tuples};
use super::shape::RandomShape;
use super::steps::keyed;
use super::value::Value;
use millstream_core::{
    Arrow, BorrowedKeysExt, Bound, ChoiceExt, FeedbackExt, ItemShape, KeysExt, Lens, PartsExt, Projected, Shape,
    ToOwnedItem, id, lens,
};
use millstream_exec::{BoxExact, BoxExt, FreePipe, OnQueues};

/// Two bodies on the same edge.
pub(crate) fn fanout(input: Kind, first: Chain, second: Chain) -> Chain {
    fn on<A: RandomShape>(input: Kind, first: Chain, second: Chain, pair: Whole) -> Chain {
        with_pair!(pair, B, C => {
            let (first, second) = (first.boxed::<A, B>(), second.boxed::<A, C>());
            let joined = Boxed::new(id::<A>().fanout(|_| first, |_| second));
            Chain::empty(input).then(joined)
        })
    }
    let (first, second, pair) = as_pair(first, second);
    with_kind!(input, A => on::<A>(input, first, second, pair))
}

/// Three to eight bodies on the same edge, which is one ring of values.
pub(crate) fn fanout_all(input: Kind, bodies: Vec<Chain>) -> Chain {
    fn on<A: RandomShape, B: RandomShape>(input: Kind, bodies: Vec<Chain>) -> Chain {
        macro_rules! flat {
            ($method:ident: $($body:ident)+) => {{
                let mut bodies = bodies.into_iter().map(Chain::boxed::<A, B>);
                $(let $body = bodies.next().expect("a body for each name");)+
                let flat = id::<A>().$method($(|_| $body),+);
                let list = flat.map(|($($body,)+)| Value::List(vec![$(B::value($body)),+]));
                Chain::empty(input).then(Boxed::new(list))
            }};
        }
        match bodies.len() {
            3 => flat!(fanout3: a b c),
            4 => flat!(fanout4: a b c d),
            5 => flat!(fanout5: a b c d e),
            6 => flat!(fanout6: a b c d e f),
            7 => flat!(fanout7: a b c d e f g),
            8 => flat!(fanout8: a b c d e f g h),
            n => unreachable!("{n} bodies"),
        }
    }
    let bodies: Vec<Chain> = bodies.into_iter().map(as_ring).collect();
    let dense = |body: &Chain| body.output == Kind::Whole(Whole::F);
    if bodies.iter().all(dense) {
        return on::<F, F>(input, bodies);
    }
    let bodies = bodies.into_iter().map(as_sparse).collect();
    match input {
        Kind::Whole(Whole::F) => on::<F, H>(input, bodies),
        _ => on::<H, H>(input, bodies),
    }
}

/// Two bodies, each on its half; the edge must have halves.
pub(crate) fn both(input: Whole, first: Chain, second: Chain) -> Chain {
    fn on<A: RandomShape>(input: Kind, first: Chain, second: Chain, pair: Whole) -> Chain
    where
        lens::First: Lens<A, Target: RandomShape>,
        lens::Second: Lens<A, Target: RandomShape>,
    {
        with_pair!(pair, B, C => {
            let first = first.boxed::<Projected<A, lens::First>, B>();
            let second = second.boxed::<Projected<A, lens::Second>, C>();
            let joined = Boxed::new(id::<A>().both(|_| first, |_| second));
            Chain::empty(input).then(joined)
        })
    }
    let (first, second, pair) = as_pair(first, second);
    let kind = Kind::Whole(input);
    with_halved!(input, A => on::<A>(kind, first, second, pair), unreachable!("{input:?} has no halves"))
}

/// The edge, or a ring of tuples after it, whose slots have halves.
pub(crate) fn halved(input: Kind) -> (Chain, Whole) {
    match input {
        Kind::Whole(whole) if whole.has_halves() => (Chain::empty(input), whole),
        _ => {
            let chain = tuples(input);
            let Kind::Whole(whole) = chain.output else { unreachable!("a map writes a whole ring") };
            (chain, whole)
        }
    }
}

/// The edge, or a ring of choices after it, whose slots have lanes.
pub(crate) fn laned(input: Kind) -> (Chain, Whole) {
    match input {
        Kind::Whole(whole) if whole.has_lanes() => (Chain::empty(input), whole),
        _ => {
            let chain = choices(input);
            let Kind::Whole(whole) = chain.output else { unreachable!("a map writes a whole ring") };
            (chain, whole)
        }
    }
}

/// Two quiet bodies, each in its lane, joined as a choice or merged; the edge must have lanes.
pub(crate) fn lanes(input: Whole, left: Chain, right: Chain, merge: bool) -> Chain {
    let total = |chain: &Chain| chain.output == Kind::Whole(Whole::LF);
    let sparse = |chain: Chain| if chain.output == Kind::Whole(Whole::H) { chain } else { with_copy(chain) };
    let totals = (total(&left), total(&right));
    let left = if totals.0 { left } else { sparse(left) };
    let right = if totals.1 { right } else { sparse(right) };
    macro_rules! joined {
        ($left:ident, $right:ident) => {
            with_laned!(input, A => {
                let left = left.boxed_quiet::<Projected<A, lens::Left>, $left>();
                let right = right.boxed_quiet::<Projected<A, lens::Right>, $right>();
                let chain = Chain::empty(Kind::Whole(input));
                if merge {
                    let merged = Boxed::new(id::<A>().merge(|_| left, |_| right));
                    chain.then(merged)
                } else {
                    let chosen = Boxed::new(id::<A>().choose(|_| left, |_| right));
                    chain.then(chosen)
                }
            }, unreachable!("{input:?} has no lanes"))
        };
    }
    match totals {
        (true, true) => joined!(LF, LF),
        (true, false) => joined!(LF, H),
        (false, true) => joined!(H, LF),
        (false, false) => joined!(H, H),
    }
}

/// A body whose second output is its second input at the next number. Its input and its output are rings of values.
pub(crate) fn feedback(start: i64, name: Option<&str>, input: Kind, body: impl Fn(Kind) -> Chain) -> Chain {
    macro_rules! looped {
        ($chain:ident, $body:ident: $input:ident, $pair:ident, $output:ident) => {{
            let body = $body.boxed::<$pair, $output>();
            // A state that kept its own history would grow without bound.
            let body = body.map(|(output, state)| (output.clone(), Value::I(state.digest())));
            let looped = id::<$input>().feedback(Value::I(start), |_| body);
            match name {
                None => $chain.then(Boxed::new(looped.map(Value::clone))),
                Some(name) => $chain.then(Boxed::new(looped.named(name).map(Value::clone))),
            }
        }};
    }
    let chain = as_ring(Chain::empty(input));
    let full = chain.output == Kind::Whole(Whole::F);
    let body = body(Kind::Whole(if full { Whole::Pff } else { Whole::Phh }));
    let pairs = tuples(body.output);
    let body = body.followed_by(pairs);
    match (full, body.output) {
        (true, Kind::Whole(Whole::TF)) => looped!(chain, body: F, Pff, TF),
        (true, _) => looped!(chain, body: F, Pff, TH),
        (false, _) => looped!(chain, body: H, Phh, TH),
    }
}

/// A body on the side.
pub(crate) fn tee(input: Kind, body: Chain) -> Chain {
    fn on<A: RandomShape, B: RandomShape>(input: Kind, body: Chain) -> Chain {
        let body = body.boxed::<A, B>();
        Chain::empty(input).then_as(Boxed::new(id::<A>().tee(|_| body)), input)
    }
    let body = as_ring(body);
    with_kind!(input, A => match body.output {
        Kind::Whole(Whole::F) => on::<A, F>(input, body),
        _ => on::<A, H>(input, body),
    })
}

/// A body that `k` tasklets run.
pub(crate) fn shard(k: usize, input: Kind, body: Chain) -> Chain {
    fn on<A: RandomShape, B: RandomShape>(k: usize, input: Kind, body: Chain) -> Chain {
        let body = body.boxed_pure::<A, B>();
        Chain::empty(input).then(Boxed::new(id::<A>().shard(k, |_| body)))
    }
    let body = match body.output {
        Kind::Whole(Whole::F | Whole::H | Whole::N | Whole::LF | Whole::MF | Whole::Pff | Whole::Phh) => body,
        _ => with_copy(body),
    };
    with_kind!(input, A => match body.output {
        Kind::Whole(Whole::F) => on::<A, F>(k, input, body),
        Kind::Whole(Whole::H) => on::<A, H>(k, input, body),
        Kind::Whole(Whole::N) => on::<A, N>(k, input, body),
        Kind::Whole(Whole::LF) => on::<A, LF>(k, input, body),
        Kind::Whole(Whole::MF) => on::<A, MF>(k, input, body),
        Kind::Whole(Whole::Pff) => on::<A, Pff>(k, input, body),
        Kind::Whole(Whole::Phh) => on::<A, Phh>(k, input, body),
        other => unreachable!("a copy has the shape {other:?}"),
    })
}

/// A body for every key; its input is a ring of values.
pub(crate) fn shard_by(keys: i64, most: usize, k: usize, input: Kind, body: impl Fn(Kind) -> Chain) -> Chain {
    fn on<A: RandomShape + for<'a> Shape<Ref<'a> = &'a Value>, B: RandomShape>(
        keys: i64,
        most: usize,
        k: usize,
        input: Kind,
        body: Chain,
    ) -> Chain {
        let (bound, body) = (Bound::forget(most), body.boxed_quiet::<A, B>());
        Chain::empty(input).then(match keys {
            0 => Boxed::new(id::<A>().shard_by_ref_within(bound, |value| value, k, |_| body)),
            _ => Boxed::new(id::<A>().shard_by_within(bound, move |value| keyed(value, keys), k, |_| body)),
        })
    }
    let before = as_ring(Chain::empty(input));
    let (input, body) = (before.output, body(before.output));
    let body = match (input, body.output) {
        (Kind::Whole(Whole::F), Kind::Whole(Whole::MF | Whole::Pff)) => body,
        _ => as_ring(body),
    };
    let sharded = match (input, body.output) {
        (Kind::Whole(Whole::F), Kind::Whole(Whole::F)) => on::<F, F>(keys, most, k, input, body),
        (Kind::Whole(Whole::F), Kind::Whole(Whole::H)) => on::<F, H>(keys, most, k, input, body),
        (Kind::Whole(Whole::F), Kind::Whole(Whole::MF)) => on::<F, MF>(keys, most, k, input, body),
        (Kind::Whole(Whole::F), Kind::Whole(Whole::Pff)) => on::<F, Pff>(keys, most, k, input, body),
        (Kind::Whole(Whole::H), Kind::Whole(Whole::H)) => on::<H, H>(keys, most, k, input, body),
        other => unreachable!("no stage has these ends: {other:?}"),
    };
    before.followed_by(sharded)
}

/// A body with a name; its edges are copied into rings of values first.
pub(crate) fn named(name: &str, input: Kind, body: impl Fn(Kind) -> Chain) -> Chain {
    fn on<A: RandomShape, B: RandomShape>(name: &str, input: Kind, body: Chain) -> Chain {
        Chain::empty(input).then(Boxed::free(body.boxed_free::<A, B>().named(name)))
    }
    let before = as_ring(Chain::empty(input));
    let body = as_ring(body(before.output));
    let input = before.output;
    let named = match (input, body.output) {
        (Kind::Whole(Whole::F), Kind::Whole(Whole::F)) => on::<F, F>(name, input, body),
        (Kind::Whole(Whole::F), Kind::Whole(Whole::H)) => on::<F, H>(name, input, body),
        (Kind::Whole(Whole::H), Kind::Whole(Whole::H)) => on::<H, H>(name, input, body),
        (Kind::Whole(Whole::H), Kind::Whole(Whole::F)) => on::<H, F>(name, input, body),
        other => unreachable!("no stage has these ends: {other:?}"),
    };
    before.followed_by(named)
}

/// A body in a box of the library. It reads a ring of values, and the type of its output names no shape.
pub(crate) fn boxed(input: Kind, body: impl Fn(Kind) -> Chain) -> Chain {
    fn on<A: RandomShape, B: RandomShape + ItemShape<Item = Value> + ToOwnedItem<Owned = Value>>(
        body: Chain,
    ) -> AnyBox<A> {
        body.boxed_free::<A, B>().boxed_as()
    }
    fn of<A: RandomShape>(body: Chain) -> AnyBox<A> {
        match body.output {
            Kind::Whole(Whole::F) => on::<A, F>(body),
            Kind::Whole(Whole::H) => on::<A, H>(body),
            Kind::Whole(Whole::N) => on::<A, N>(body),
            Kind::Whole(Whole::MF) => on::<A, MF>(body),
            Kind::Whole(Whole::MH) => on::<A, MH>(body),
            Kind::Whole(Whole::Oll) => on::<A, Oll>(body),
            Kind::Whole(Whole::Ohh) => on::<A, Ohh>(body),
            Kind::Whole(Whole::Any) => on::<A, Any>(body),
            Kind::Whole(Whole::MAny) => on::<A, MAny>(body),
            _ => of(with_copy(body)),
        }
    }
    let before = as_ring(Chain::empty(input));
    let (input, body) = (before.output, body(before.output));
    let boxed = match input {
        Kind::Whole(Whole::F) => Chain::empty(input).then(Boxed::free(of::<F>(body))),
        _ => Chain::empty(input).then(Boxed::free(of::<H>(body))),
    };
    before.followed_by(boxed)
}

/// A box of the library, for every deployment.
type AnyBox<A> = BoxExact<A, Any, OnQueues<FreePipe>>;

fn with_copy(chain: Chain) -> Chain {
    let copy = copied(chain.output);
    chain.followed_by(copy)
}

pub(crate) fn as_ring(chain: Chain) -> Chain {
    if matches!(chain.output, Kind::Whole(Whole::F | Whole::H)) { chain } else { with_copy(chain) }
}

/// The chain, to a sparse ring.
pub(crate) fn as_sparse(chain: Chain) -> Chain {
    let chain = as_ring(chain);
    if chain.output == Kind::Whole(Whole::H) {
        return chain;
    }
    let copy = Boxed::new(id::<F>().filter_map(|value| Some(value.clone())));
    chain.followed_by(Chain::empty(Kind::Whole(Whole::F)).then(copy))
}

/// Two bodies whose outputs can be side by side. An output for which this is impossible is copied into a ring.
fn as_pair(first: Chain, second: Chain) -> (Chain, Chain, Whole) {
    if let (Kind::Whole(a), Kind::Whole(b)) = (first.output, second.output)
        && let Some(pair) = Whole::pair(a, b)
    {
        return (first, second, pair);
    }
    if !matches!(second.output, Kind::Whole(Whole::F | Whole::H)) {
        return as_pair(first, with_copy(second));
    }
    as_pair(with_copy(first), second)
}
