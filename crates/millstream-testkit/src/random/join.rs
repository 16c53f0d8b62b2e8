//! Combinators with bodies, on edges of any shape.

use super::edge::Chain;
use super::kind::{F, H, Kind, MF, Pff, Phh, Whole, with_halved, with_kind, with_pair};
use super::leaf::{copied, tuples};
use super::shape::Shape;
use millstream_core::{Arrow, Fst, Lens, Seen, Snd, id};
use millstream_exec::BoxPipeline;

/// Two bodies on the same edge.
pub(crate) fn fanout(input: Kind, first: Chain, second: Chain) -> Chain {
    fn on<A: Shape>(input: Kind, first: Chain, second: Chain, pair: Whole) -> Chain {
        with_pair!(pair, B, C => {
            let (first, second) = (first.boxed::<A, B>(), second.boxed::<A, C>());
            let joined = BoxPipeline::new(id::<A>().fanout(|_| first, |_| second));
            Chain::empty(input).then(joined, Kind::Whole(pair))
        })
    }
    let (first, second, pair) = as_pair(first, second);
    with_kind!(input, A => on::<A>(input, first, second, pair))
}

/// Two bodies, each on its half; the edge must have halves.
pub(crate) fn both(input: Whole, first: Chain, second: Chain) -> Chain {
    fn on<A: Shape>(input: Kind, first: Chain, second: Chain, pair: Whole) -> Chain
    where
        Fst: Lens<A, Target: Shape>,
        Snd: Lens<A, Target: Shape>,
    {
        with_pair!(pair, B, C => {
            let (first, second) = (first.boxed::<Seen<A, Fst>, B>(), second.boxed::<Seen<A, Snd>, C>());
            let joined = BoxPipeline::new(id::<A>().both(|_| first, |_| second));
            Chain::empty(input).then(joined, Kind::Whole(pair))
        })
    }
    let (first, second, pair) = as_pair(first, second);
    let kind = Kind::Whole(input);
    with_halved!(input, A => on::<A>(kind, first, second, pair), unreachable!("{input:?} has no halves"))
}

/// The edge, or a ring of tuples behind it, whose slots have halves.
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

/// A body run by `k` tasklets.
pub(crate) fn shard(k: usize, input: Kind, body: Chain) -> Chain {
    fn on<A: Shape, B: Shape>(k: usize, input: Kind, body: Chain) -> Chain {
        let (output, body) = (body.output, body.boxed_pure::<A, B>());
        Chain::empty(input).then(BoxPipeline::new(id::<A>().shard(k, |_| body)), output)
    }
    let body = match body.output {
        Kind::Whole(Whole::F | Whole::H | Whole::MF | Whole::Pff | Whole::Phh) => body,
        _ => with_copy(body),
    };
    with_kind!(input, A => match body.output {
        Kind::Whole(Whole::F) => on::<A, F>(k, input, body),
        Kind::Whole(Whole::H) => on::<A, H>(k, input, body),
        Kind::Whole(Whole::MF) => on::<A, MF>(k, input, body),
        Kind::Whole(Whole::Pff) => on::<A, Pff>(k, input, body),
        Kind::Whole(Whole::Phh) => on::<A, Phh>(k, input, body),
        other => unreachable!("a copy gave {other:?}"),
    })
}

/// A body with a name; its edges are copied into rings of values first.
pub(crate) fn named(name: &str, input: Kind, body: impl Fn(Kind) -> Chain) -> Chain {
    fn on<A: Shape, B: Shape>(name: &str, input: Kind, body: Chain) -> Chain {
        let output = body.output;
        Chain::empty(input).then(BoxPipeline::new(body.boxed::<A, B>().named(name)), output)
    }
    let before = as_ring(Chain::empty(input));
    let body = as_ring(body(before.output));
    let input = before.output;
    let named = match (input, body.output) {
        (Kind::Whole(Whole::F), Kind::Whole(Whole::F)) => on::<F, F>(name, input, body),
        (Kind::Whole(Whole::F), Kind::Whole(Whole::H)) => on::<F, H>(name, input, body),
        (Kind::Whole(Whole::H), Kind::Whole(Whole::H)) => on::<H, H>(name, input, body),
        other => unreachable!("a stage cannot go from and to {other:?}"),
    };
    before.followed_by(named)
}

fn with_copy(chain: Chain) -> Chain {
    let copy = copied(chain.output);
    chain.followed_by(copy)
}

fn as_ring(chain: Chain) -> Chain {
    if matches!(chain.output, Kind::Whole(Whole::F | Whole::H)) { chain } else { with_copy(chain) }
}

/// Two bodies whose outputs can stand side by side, copied into a ring where they cannot.
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
