//! Named wires: pipelines as graphs.
//!
//! A *block* gives names to edges of one clock, its *wires*. A wire is a pipeline whose input is the block's scope, so
//! every combinator is a method of it, and a tuple of wires is a pipeline too: the wires joined by number. Each stage
//! reads the wires that it names, and no others: it neither waits for another wire nor has that wire's empty slots.
//!
//! [`wires!`](crate::wires!) writes a block with Rust's own `let`, closures, `if` and `match`. This module is what the
//! macro calls, for blocks that are written without it:
//!
//! ```
//! use millstream::prelude::*;
//!
//! enum Crossing {}
//! let (w, price) = wires::block::<Val<f64>, Crossing>();
//! let (w, fast) = w.wire("fast", price.windows(2).map(|w| w.iter().sum::<f64>() / 2.0));
//! let (w, slow) = w.wire("slow", price.windows(3).map(|w| w.iter().sum::<f64>() / 3.0));
//! let (w, above) = w.wire("above", (fast, slow).map(|(fast, slow)| fast > slow));
//! let p = w.emit((price, above.dedup()));
//! assert_eq!(p.model([1.0, 2.0, 3.0, 1.0, 1.0]), [(3.0, true), (1.0, false)]);
//! ```
//!
//! What it means: a wire is a list of slots, and `let x = e; body` is `body` with `e` for `x`. So a statement that
//! nothing reads can be removed, and independent statements can be exchanged, and no other wire changes. A join is
//! filled where all of its wires are. Stages that renumber belong before or after a block, or in a `tee` inside it.
//!
//! The idea is arrow notation (Ross Paterson, "A New Notation for Arrows", 2001). There a statement reads a tuple of
//! all names before it; here it reads what it names.

mod backend;
mod block;
mod choose;
mod edges;
mod join;
mod lane;
mod matching;
mod or;

pub use backend::{BlockBackend, Forks, Joins, Merges};
pub use block::{
    Bind, BlockBody, BlockBuilder, DeployStatements, Grouped, NewBlock, Start, Statements, Wires, WithWire, block,
    wires_of,
};
pub use choose::{ChoiceLane, If, IfFalse, IfTrue, InLane, WireInLane, choose, choose_in};
pub use edges::Edges;
pub use lane::{LaneBody, LaneBuilder, LaneWithWire};
#[doc(hidden)]
pub use matching::matching;
pub use matching::{Arm, ArmBefore, DeployArms, LastArm, Match, MatchArms, MergeDepth, NoArm, OneMerge};
pub use or::{Or, WireExt};

use crate::pipe::combinator;
use crate::plan::{Describe, Port};
use crate::shape::Phantom;
use crate::{Arrow, Dense, Deploy, On, Shape};
use std::marker::PhantomData;

/// Markers that a pipeline has if its parts have them. They add no line to the list of types with a marker that the
/// compiler prints.
macro_rules! as_parts {
    ($pipe:ident<$($parameter:ident),+>: $($part:ident)+; $($marker:ident)+) => {
        $crate::wires::as_parts!(@each $pipe [$($parameter),+] [$($part)+] $($marker)+);
    };
    (@each $pipe:ident $parameters:tt $parts:tt $($marker:ident)+) => {
        $($crate::wires::as_parts!(@one $marker $pipe $parameters $parts);)+
    };
    (@one $marker:ident $pipe:ident [$($parameter:ident),+] [$($part:ident)+]) => {
        #[diagnostic::do_not_recommend]
        impl<$($parameter),+> $crate::$marker for $pipe<$($parameter),+> where $($part: $crate::$marker),+ {}
    };
}
use as_parts;

/// The wires of a block, as the input of the pipelines in it. `S` is a type of the block's own, so that no wire of
/// another block is taken for one of this one.
pub struct Scope<S>(Phantom<S>);

impl<S> std::fmt::Debug for Scope<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Scope")
    }
}

impl<S: 'static> Shape for Scope<S> {
    type Ref<'a> = ();
    type Density = Dense;
    const BYTES: usize = 0;

    fn shorten<'s, 'l: 's>((): ()) {}
}

impl<K: BlockBackend, S: 'static> On<K> for Scope<S> {
    type Edge = Edges<K>;
}

/// A wire of the block `S`, of shape `F`: a pipeline that reads one edge of the block's scope. Copies of it are the
/// same wire.
pub struct Wire<S, F> {
    id: usize,
    shape: Phantom<(S, F)>,
}
combinator!(Wire<S, F>: KeepsClock Quiet Shardable Determinate; through :);

/// What an arm of a `match` of a wire does where another arm was chosen.
#[doc(hidden)]
#[cold]
pub fn not_this_arm() -> ! {
    panic!("an arm of a `match` of a wire does not match the value that chose it")
}

impl<S, F> Wire<S, F> {
    /// The wire number `id` of the block `S`. Wire 0 is what comes in, and the n-th statement binds wire n. A wire of
    /// another shape than its statement's makes the deployment panic; [`BlockBuilder::wire`] returns the right one.
    #[must_use]
    pub fn new(id: usize) -> Self {
        Wire { id, shape: PhantomData }
    }
}

impl<S, F> Clone for Wire<S, F> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<S, F> Copy for Wire<S, F> {}

impl<S: 'static, F: Shape> Arrow for Wire<S, F> {
    type In = Scope<S>;
    type Out = F;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input.wire(self.id)
    }
}

#[diagnostic::do_not_recommend]
impl<K: Forks<F>, S: 'static, F: On<K, Edge: 'static>> Deploy<K> for Wire<S, F>
where
    Scope<S>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, input: Edges<K>, wiring: &mut K::Wiring) -> F::Edge {
        input.read::<F>(self.id, wiring)
    }
}
