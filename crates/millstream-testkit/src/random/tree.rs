mod apart;
mod changed;
mod graph;
mod related;
mod show;
mod simpler;
mod size;
mod versioned;

use super::answer::Answer;
use super::fold_windows::FoldWindows;
use super::row::Row;
use super::stream::Stream;
use super::try_scan::TryScanBy;
use super::windows::Windows;
pub use graph::{Graph, Statement};
pub use related::{Edit, Related};

/// The syntax tree of a random pipeline. The comments are its meaning.
///
/// Trees fit together in any way: a stage that needs a pair gets the [halves](super::Value::halves) of any value.
/// Only the body of a [`Pipe::Shard`] must be [pure](Pipe::is_pure), the lanes of a choice [quiet](Pipe::is_quiet),
/// and no body may [renumber](Pipe::renumbers).
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Pipe {
    /// The same values, and no stage.
    Id,
    /// The number `digest * 31 + plus`.
    Map {
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::Map`], on its own thread.
    MapBlocking {
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::Map`], by futures, at most `limit` at a time, at least 1. Each yields a few times, so they finish in
    /// any order.
    MapAsync {
        /// The most futures at a time.
        limit: usize,
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::Map`], of the value itself.
    MapOwned {
        /// The summand.
        plus: i64,
    },
    /// The same values, in a ring of their own.
    Cloned,
    /// Right if the modulus, at least 1, divides the digest, and left otherwise.
    Partition {
        /// The modulus.
        modulus: i64,
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
    /// The first half, on the side of the [left or right value](super::Value::either) of the second half.
    Distribute,
    /// Nothing.
    DeadEnd,
    /// The part [inside](super::Value::inside) the value, by reference.
    Part,
    /// The value, or -7 in an empty slot.
    Maybe,
    /// Only values whose digest is not divisible by the modulus, at least 1.
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
    /// As [`Pipe::FilterMap`], by a function that fails for the values that the other leaves out, or panics if `plus`
    /// is odd.
    TryMap {
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::TryMap`] with this modulus and summand: the failures are outputs, and are left out after it.
    TryMapOrError(i64, i64),
    /// As [`Pipe::TryMap`], with a function that receives the failures.
    DeadLetter {
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// As [`Pipe::DeadLetter`] with this modulus and summand, by [futures](Pipe::MapAsync), the first of the three
    /// at a time.
    DeadLetterAsync(usize, i64, i64),
    /// The state, a number, becomes `state * 31 + digest`, which is also the output.
    Scan {
        /// The state before the first value.
        start: i64,
    },
    /// As [`Pipe::Scan`]. If the modulus, at least 1, divides the value's digest, the function changes the state and
    /// then fails, or panics if `start` is odd.
    TryScan {
        /// The state before the first value.
        start: i64,
        /// The modulus.
        modulus: i64,
        /// The handling of a failure.
        by: TryScanBy,
    },
    /// As [`Pipe::Scan`]. At END the output is `state * 17 + 1`, if 3 does not divide the state.
    ScanFinish {
        /// The state before the first value.
        start: i64,
    },
    /// A list of the results of windows that aggregate, at every value at which there are any.
    FoldWindows(FoldWindows),
    /// Stages with no box between them.
    Row(Row),
    /// A fold that has a name.
    Answer(Answer),
    /// The state becomes `state * 17 ^ digest`; the answer is the state.
    Fold {
        /// The state before the first value.
        start: i64,
    },
    /// For every [key](Pipe::ShardBy) the answer of [`Pipe::Fold`] to its values: a list of pairs.
    FoldBy {
        /// The modulus of the keys, or 0.
        keys: i64,
        /// The state before the first value.
        start: i64,
    },
    /// As [`Pipe::DeadLetter`], by a stage that parks the [key](Pipe::ShardBy) of a failed value.
    Park {
        /// The modulus of the keys.
        keys: i64,
        /// The modulus.
        modulus: i64,
        /// The summand.
        plus: i64,
    },
    /// At every value, the value before it.
    Delay {
        /// The output at the first value: the halves of this number, as a pair.
        first: i64,
    },
    /// A stage that keeps a state and its clock.
    Stream(Stream),
    /// On a new clock, `digest * 31` plus 0, 1, ...: the count is the digest modulo `modulus`, at least 1.
    FlatMap {
        /// The modulus.
        modulus: i64,
    },
    /// As [`Pipe::FlatMap`], of the state of a [`Pipe::Scan`] that starts at `modulus`. If `finish` is set, the last
    /// state has outputs as well, their count modulo `modulus + 2`.
    FlatScan {
        /// The modulus, at least 1.
        modulus: i64,
        /// Whether there are outputs after the last value.
        finish: bool,
    },
    /// Written as text, read again, and joined with its first character. Nothing if [`Pipe::Filter`] leaves the value
    /// out, or the text is short.
    Text {
        /// The modulus.
        modulus: i64,
        /// A number that is written after the digest.
        plus: i64,
    },
    /// On a new clock, words, some of them on one line, written and split again: their count is the digest modulo
    /// `modulus`, at least 1.
    Words {
        /// The modulus.
        modulus: i64,
    },
    /// On a new clock, the value's [parts](super::Value::parts).
    Flatten,
    /// On a new clock, the same values.
    Compact,
    /// On a new clock, as [`Pipe::MapAsync`], in the order in which the futures finish. After it, random pipelines have
    /// only stages that [need no order](Pipe::needs_no_order).
    Unordered {
        /// The most futures at a time.
        limit: usize,
        /// The summand.
        plus: i64,
    },
    /// On a new clock, windows of event time.
    WindowsBy(Windows),
    /// The same value, and a panic if its digest is divisible by the modulus, at least 1. Random pipelines do not have
    /// it; [`Pipe::failing`] inserts it.
    Fail {
        /// The modulus.
        modulus: i64,
    },
    /// One after the other.
    Then(Box<Pipe>, Box<Pipe>),
    /// The same value through both; a pair.
    Fanout(Box<Pipe>, Box<Pipe>),
    /// The same value through three to eight; a list.
    FanoutAll(Vec<Pipe>),
    /// The value's halves, each through its own pipeline; a pair.
    Both(Box<Pipe>, Box<Pipe>),
    /// Each value through one of the two, by [its side](super::Value::either); the output keeps the side. Both must
    /// be quiet.
    Choose(Box<Pipe>, Box<Pipe>),
    /// As [`Pipe::Choose`], without the side.
    Merge(Box<Pipe>, Box<Pipe>),
    /// The body sees a pair of the value and the state. The first half of its output is the output, and the digest of
    /// the second half is the next state.
    Feedback(i64, Box<Pipe>),
    /// The same values, and the body on the side.
    Tee(Box<Pipe>),
    /// The same values, which a named sink gets as well.
    TeeTo,
    /// The body, run by this many tasklets, at least 1. The body must be pure.
    Shard(usize, Box<Pipe>),
    /// The body for every key, run by `k` tasklets, at least 1. A value's key is its digest modulo `keys`; if
    /// `keys` is 0, the value itself, borrowed. The body must be quiet.
    ShardBy {
        /// The modulus of the keys, or 0.
        keys: i64,
        /// How many keys are kept, at least 1.
        most: usize,
        /// The number of tasklets.
        k: usize,
        /// The body.
        body: Box<Pipe>,
    },
    /// The body, named.
    Named(Box<Pipe>),
    /// A stage, a [`Pipe::ShardBy`] or a [`Pipe::Feedback`] whose state, or whose clock, has a name of its own, by
    /// which another version of the tree finds it. Random pipelines do not have it; [`Pipe::versioned`] inserts it.
    Called(u32, Box<Pipe>),
    /// The body, in a box whose type names no shape of the output.
    Boxed(Box<Pipe>),
    /// A block of named wires.
    Block(Graph),
}

impl Pipe {
    /// Whether it is stateless and quiet in all parts, and can therefore be a shard's body.
    #[must_use]
    pub fn is_pure(&self) -> bool {
        match self {
            Pipe::Id
            | Pipe::Map { .. }
            | Pipe::MapOwned { .. }
            | Pipe::Cloned
            | Pipe::Partition { .. }
            | Pipe::Tuple
            | Pipe::Firsts
            | Pipe::Seconds
            | Pipe::Swap
            | Pipe::Fork
            | Pipe::Distribute
            | Pipe::DeadEnd
            | Pipe::Part
            | Pipe::Filter { .. }
            | Pipe::FilterMap { .. }
            | Pipe::MapBlocking { .. }
            | Pipe::MapAsync { .. }
            | Pipe::DeadLetter { .. }
            | Pipe::DeadLetterAsync(..)
            | Pipe::TryMap { .. }
            | Pipe::TryMapOrError(..)
            | Pipe::Text { .. }
            | Pipe::Fail { .. } => true,
            Pipe::Row(row) => row.is_pure(),
            Pipe::Scan { .. } | Pipe::TryScan { .. } | Pipe::Delay { .. } | Pipe::Feedback(..) => false,
            Pipe::ScanFinish { .. } | Pipe::FlatScan { .. } | Pipe::FoldWindows(_) => false,
            Pipe::Fold { .. } | Pipe::Answer(_) => false,
            Pipe::FoldBy { .. } | Pipe::Park { .. } | Pipe::ShardBy { .. } => false,
            Pipe::Stream(_) | Pipe::TeeTo | Pipe::Maybe => false,
            Pipe::FlatMap { .. }
            | Pipe::Words { .. }
            | Pipe::Flatten
            | Pipe::Compact
            | Pipe::WindowsBy(_)
            | Pipe::Unordered { .. } => false,
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.is_pure() && q.is_pure()
            }
            Pipe::FanoutAll(bodies) => bodies.iter().all(Pipe::is_pure),
            Pipe::Block(block) => block.bodies().all(Pipe::is_pure),
            Pipe::Shard(_, p) | Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) | Pipe::Tee(p) => p.is_pure(),
        }
    }

    /// Whether it fills a slot only if its input is filled, and can therefore be a lane.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        match self {
            Pipe::Fold { .. } | Pipe::FoldBy { .. } | Pipe::Answer(_) | Pipe::TeeTo | Pipe::Maybe => false,
            Pipe::ScanFinish { .. } | Pipe::FoldWindows(_) => false,
            leaf if leaf.starts_a_clock() => false,
            Pipe::Stream(stage) => stage.is_quiet(),
            Pipe::Row(row) => row.is_quiet(),
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.is_quiet() && q.is_quiet()
            }
            Pipe::FanoutAll(bodies) => bodies.iter().all(Pipe::is_quiet),
            Pipe::Block(block) => block.bodies().all(Pipe::is_quiet),
            Pipe::Shard(_, p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => p.is_quiet(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.is_quiet(),
            Pipe::ShardBy { body, .. } => body.is_quiet(),
            _ => true,
        }
    }

    /// Whether it starts a new clock, and therefore cannot be a body.
    #[must_use]
    pub fn renumbers(&self) -> bool {
        match self {
            leaf if leaf.starts_a_clock() => true,
            Pipe::Then(p, q) => p.renumbers() || q.renumbers(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.renumbers(),
            _ => false,
        }
    }

    /// Whether it is a single stage that starts a new clock.
    fn starts_a_clock(&self) -> bool {
        matches!(
            self,
            Pipe::FlatMap { .. }
                | Pipe::FlatScan { .. }
                | Pipe::Words { .. }
                | Pipe::Flatten
                | Pipe::Compact
                | Pipe::WindowsBy(_)
                | Pipe::Unordered { .. }
        )
    }

    /// Whether it can end the stream before its source does, at the outer level.
    #[must_use]
    pub fn ends(&self) -> bool {
        match self {
            Pipe::Stream(stage) => stage.ends(),
            Pipe::Then(p, q) => p.ends() || q.ends(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.ends(),
            _ => false,
        }
    }

    /// Whether its output has no order: the numbers of the values can differ in every run.
    #[must_use]
    pub fn gives_order_up(&self) -> bool {
        match self {
            Pipe::Unordered { .. } => true,
            Pipe::Then(p, q) => p.gives_order_up() || q.gives_order_up(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.gives_order_up(),
            _ => false,
        }
    }

    /// Whether its output values do not depend on the order of its input.
    #[must_use]
    pub fn needs_no_order(&self) -> bool {
        match self {
            Pipe::FlatMap { .. } | Pipe::Words { .. } | Pipe::Flatten | Pipe::Compact | Pipe::Unordered { .. } => true,
            Pipe::Then(p, q) => p.needs_no_order() && q.needs_no_order(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.needs_no_order(),
            _ => self.is_pure(),
        }
    }
}
