mod show;
mod simpler;

use super::stream::Stream;
use super::value::Value;
use super::windows::Windows;

/// The syntax tree of a random pipeline, and in its comments what it means.
///
/// Trees fit together in any way: what wants a pair gets the [halves](Value::halves) of whatever is there. Only the
/// body of a [`Pipe::Shard`] must be [pure](Pipe::is_pure), the lanes of a choice [quiet](Pipe::is_quiet), and no body
/// may [renumber](Pipe::renumbers).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// The same values, and no stage.
    Id,
    /// The number `digest * 31 + plus`.
    Map {
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::Map`], with a thread of its own.
    MapBlocking {
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::Map`], by futures, so many at a time at most, at least 1; each gives way a few times before it is
    /// done, so that they are done in any order.
    MapAsync {
        /// How many at a time.
        limit: usize,
        /// The summand.
        plus: i64,
    },
    /// The value's halves, as a tuple in one ring.
    Tuple,
    /// The first of the value's halves.
    Firsts,
    /// The second of the value's halves.
    Seconds,
    /// The value's halves, exchanged.
    Swap,
    /// The value twice.
    Fork,
    /// The first half, with the [left or right value](Value::either) that the second half is: left or right.
    Distribute,
    /// Nothing.
    DeadEnd,
    /// Only values whose digest the modulus, at least 1, does not divide.
    Filter {
        /// The modulus.
        modulus: i64,
    },
    /// As [`Pipe::Filter`], and then as [`Pipe::Map`], in one stage.
    FilterMap {
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::FilterMap`], by a function that fails where the other leaves out, or panics where `plus` is odd.
    TryMap {
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::TryMap`], whose failures somebody is told of.
    DeadLetter {
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// The state, a number, becomes `state * 31 + digest`, and that is the output.
    Scan {
        /// The state before the first value.
        start: i64,
    },
    /// The state becomes `state * 17 ^ digest`; the answer is the state.
    Fold {
        /// The state before the first value.
        start: i64,
    },
    /// For every [key](Pipe::ShardBy) what [`Pipe::Fold`] answers of its values: a list of pairs.
    FoldBy {
        /// The modulus of the keys.
        keys: i64,
        /// The state before the first value.
        start: i64,
    },
    /// As [`Pipe::DeadLetter`], of a stage that parks the [key](Pipe::ShardBy) of a value that failed.
    Park {
        /// The modulus of the keys.
        keys: i64,
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// At every value the value before it.
    Delay {
        /// At the first value stand the halves of this number, as a pair.
        first: i64,
    },
    /// A stage that keeps a state and its clock.
    Stream(Stream),
    /// On a new clock, as many numbers as the digest modulo `modulus`, at least 1: `digest * 31` plus 0, 1, ...
    FlatMap {
        /// The modulus.
        modulus: i64,
    },
    /// Written as text, read again, and joined with its first character; nothing where
    /// [`Pipe::Filter`] leaves nothing, or the text is short.
    Text {
        /// The modulus.
        modulus: i64,
        /// What is written behind the digest.
        plus: i64,
    },
    /// On a new clock, as many words as the digest modulo `modulus`, at least 1, some of them on a line, written and cut again.
    Words {
        /// The modulus.
        modulus: i64,
    },
    /// On a new clock, the value's [parts](Value::parts).
    Flatten,
    /// On a new clock, the same values.
    Compact,
    /// On a new clock, as [`Pipe::MapAsync`], in the order in which they are done. Behind it random pipelines have only
    /// what [needs no order](Pipe::needs_no_order).
    Unordered {
        /// How many at a time.
        limit: usize,
        /// The summand.
        plus: i64,
    },
    /// On a new clock, windows of event time.
    WindowsBy(Windows),
    /// The same value, and a panic where the modulus, at least 1, divides its digest. Random pipelines do not have it;
    /// it is put in by [`Pipe::failing`].
    Fail {
        /// The modulus.
        modulus: i64,
    },
    /// One after the other.
    Then(Box<Pipe>, Box<Pipe>),
    /// The same value through both; a pair.
    Fanout(Box<Pipe>, Box<Pipe>),
    /// The value's halves, each through its own; a pair.
    Both(Box<Pipe>, Box<Pipe>),
    /// Each value through one of the two, by [which it is](Value::either); left or right still. Both must be quiet.
    Choose(Box<Pipe>, Box<Pipe>),
    /// As [`Pipe::Choose`], which of the two forgotten.
    Merge(Box<Pipe>, Box<Pipe>),
    /// The body sees a pair of the value and the state; of what it gives the first half is the output, and the digest of the
    /// second the next state.
    Feedback(i64, Box<Pipe>),
    /// The same values, and the body on the side.
    Tee(Box<Pipe>),
    /// The body, run by so many tasklets, at least 1. The body must be pure.
    Shard(usize, Box<Pipe>),
    /// The body for every key, run by so many tasklets, at least 1. A value's key is its digest modulo `keys`, at least 1. The
    /// body must be quiet.
    ShardBy {
        /// The modulus of the keys.
        keys: i64,
        /// How many keys are not forgotten, at least 1.
        most: usize,
        /// How many tasklets.
        k: usize,
        /// The body.
        body: Box<Pipe>,
    },
    /// The body, named.
    Named(Box<Pipe>),
}

/// What a [`Pipe::Map`] does.
pub(crate) fn mapped(value: &Value, plus: i64) -> Value {
    value.like(value.digest().wrapping_mul(31).wrapping_add(plus))
}

/// What a [`Pipe::Filter`] lets through.
pub(crate) fn kept(value: &Value, modulus: i64) -> bool {
    value.digest().rem_euclid(modulus) != 0
}

/// What a [`Pipe::Scan`] does.
pub(crate) fn scanned(state: &mut Value, value: &Value) -> Value {
    *state = value.like(state.digest().wrapping_mul(31).wrapping_add(value.digest()));
    state.clone()
}

/// What a [`Pipe::FlatMap`] does.
pub(crate) fn expanded(value: &Value, modulus: i64) -> impl Iterator<Item = Value> + use<> {
    let value = value.clone();
    (0..value.digest().rem_euclid(modulus)).map(move |plus| mapped(&value, plus))
}

/// The key of a value.
pub(crate) fn keyed(value: &Value, keys: i64) -> Value {
    value.like(value.digest().rem_euclid(keys))
}

/// What a [`Pipe::Fold`] does.
pub(crate) fn folded(state: &mut Value, value: &Value) {
    *state = value.like(state.digest().wrapping_mul(17) ^ value.digest());
}

impl Pipe {
    /// Whether it is stateless and quiet, all through, and so can be a shard's body.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        match self {
            Pipe::Id
            | Pipe::Map { .. }
            | Pipe::Tuple
            | Pipe::Firsts
            | Pipe::Seconds
            | Pipe::Swap
            | Pipe::Fork
            | Pipe::Distribute
            | Pipe::DeadEnd
            | Pipe::Filter { .. }
            | Pipe::FilterMap { .. }
            | Pipe::MapBlocking { .. }
            | Pipe::MapAsync { .. }
            | Pipe::DeadLetter { .. }
            | Pipe::TryMap { .. }
            | Pipe::Text { .. }
            | Pipe::Fail { .. } => true,
            Pipe::Scan { .. } | Pipe::Fold { .. } | Pipe::Delay { .. } | Pipe::Feedback(..) => false,
            Pipe::FoldBy { .. } | Pipe::Park { .. } | Pipe::ShardBy { .. } => false,
            Pipe::Stream(_) => false,
            Pipe::FlatMap { .. }
            | Pipe::Words { .. }
            | Pipe::Flatten
            | Pipe::Compact
            | Pipe::WindowsBy(_)
            | Pipe::Unordered { .. } => false,
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.is_pure() && q.is_pure()
            }
            Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Tee(p) => p.is_pure(),
        }
    }

    /// Whether it fills a slot only where its input is filled, and so can stand in a lane.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        match self {
            Pipe::Fold { .. } | Pipe::FoldBy { .. } => false,
            leaf if leaf.starts_a_clock() => false,
            Pipe::Stream(stage) => stage.is_quiet(),
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.is_quiet() && q.is_quiet()
            }
            Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => p.is_quiet(),
            Pipe::ShardBy { body, .. } => body.is_quiet(),
            _ => true,
        }
    }

    /// Whether it numbers its outputs afresh, and so cannot be a body.
    #[must_use]
    pub fn renumbers(&self) -> bool {
        match self {
            leaf if leaf.starts_a_clock() => true,
            Pipe::Then(p, q) => p.renumbers() || q.renumbers(),
            Pipe::Named(p) => p.renumbers(),
            _ => false,
        }
    }

    /// Whether it is one stage that numbers its outputs afresh.
    fn starts_a_clock(&self) -> bool {
        matches!(
            self,
            Pipe::FlatMap { .. }
                | Pipe::Words { .. }
                | Pipe::Flatten
                | Pipe::Compact
                | Pipe::WindowsBy(_)
                | Pipe::Unordered { .. }
        )
    }

    /// Whether it can end the stream before its source does, if it stands at the outer level.
    #[must_use]
    pub fn ends(&self) -> bool {
        match self {
            Pipe::Stream(stage) => stage.ends(),
            Pipe::Then(p, q) => p.ends() || q.ends(),
            Pipe::Named(p) => p.ends(),
            _ => false,
        }
    }

    /// Whether its output is in no order: which value has which number can be another one in every run.
    #[must_use]
    pub fn gives_order_up(&self) -> bool {
        match self {
            Pipe::Unordered { .. } => true,
            Pipe::Then(p, q) => p.gives_order_up() || q.gives_order_up(),
            Pipe::Named(p) => p.gives_order_up(),
            _ => false,
        }
    }

    /// Whether it gives the same values, each as often, in whatever order its input's come.
    #[must_use]
    pub fn needs_no_order(&self) -> bool {
        match self {
            Pipe::FlatMap { .. } | Pipe::Words { .. } | Pipe::Flatten | Pipe::Compact | Pipe::Unordered { .. } => true,
            Pipe::Then(p, q) => p.needs_no_order() && q.needs_no_order(),
            Pipe::Named(p) => p.needs_no_order(),
            _ => self.is_pure(),
        }
    }

    /// How often the stage that is run by the most tasklets is: what shards inside shards multiply to.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.width().max(q.width())
            }
            Pipe::Shard(k, p) | Pipe::ShardBy { k, body: p, .. } => k * p.width(),
            Pipe::Named(p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => p.width(),
            _ => 1,
        }
    }

    /// How many nodes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                1 + p.size() + q.size()
            }
            Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => 1 + p.size(),
            Pipe::ShardBy { body, .. } => 1 + body.size(),
            _ => 1,
        }
    }

    /// The same tree with a [`Pipe::Fail`] in front of its `place`-th leaf, counted round and round.
    #[must_use]
    pub fn failing(mut self, place: usize, modulus: i64) -> Pipe {
        let mut left = place % self.leaves();
        self.each_leaf(&mut |leaf| {
            if left == 0 {
                let stage = std::mem::replace(leaf, Pipe::Id);
                *leaf = Pipe::Then(Pipe::Fail { modulus }.into(), stage.into());
            }
            left = left.wrapping_sub(1);
        });
        self
    }

    /// The same tree with the body of each [`Pipe::Feedback`] instead of the loop.
    #[must_use]
    pub fn without_loops(self) -> Pipe {
        let body = |p: Box<Pipe>| Box::new(p.without_loops());
        match self {
            Pipe::Feedback(_, p) => p.without_loops(),
            Pipe::Then(p, q) => Pipe::Then(body(p), body(q)),
            Pipe::Fanout(p, q) => Pipe::Fanout(body(p), body(q)),
            Pipe::Both(p, q) => Pipe::Both(body(p), body(q)),
            Pipe::Choose(p, q) => Pipe::Choose(body(p), body(q)),
            Pipe::Merge(p, q) => Pipe::Merge(body(p), body(q)),
            Pipe::Shard(k, p) => Pipe::Shard(k, body(p)),
            Pipe::ShardBy { keys, most, k, body: p } => Pipe::ShardBy { keys, most, k, body: body(p) },
            Pipe::Named(p) => Pipe::Named(body(p)),
            Pipe::Tee(p) => Pipe::Tee(body(p)),
            leaf => leaf,
        }
    }

    fn leaves(&self) -> usize {
        let mut leaves = 0;
        self.clone().each_leaf(&mut |_| leaves += 1);
        leaves
    }

    fn each_leaf(&mut self, f: &mut impl FnMut(&mut Pipe)) {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.each_leaf(f);
                q.each_leaf(f);
            }
            Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => p.each_leaf(f),
            Pipe::ShardBy { body, .. } => body.each_leaf(f),
            leaf => f(leaf),
        }
    }
}
