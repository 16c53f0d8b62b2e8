//! The operations that a deployment needs for blocks of wires.

use crate::plan::Branch;
use crate::{Backend, Merged, On, Otherwise, Pair, SameItem};

/// A deployment that can walk through the statements of a block.
pub trait BlockBackend: Backend {
    /// Whether an edge must know how many pipelines read it before the first one does.
    const COUNTS_READERS: bool = false;
    /// Deploys something in a body of the node that is deployed now.
    fn in_body<T>(wiring: &mut Self::Wiring, branch: Branch, inside: impl FnOnce(&mut Self::Wiring) -> T) -> T;
}

/// A deployment whose edges of shape `F` can have several readers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no wires of shape `{F}`",
    label = "a wire of this block cannot have several readers there",
    note = "queues give each reader of a wire its own copy: its values must be `Clone`"
)]
pub trait Forks<F: On<Self>>: BlockBackend + Sized {
    /// Splits a reading end into two: the one that was asked for, and one for further readers.
    fn fork(edge: F::Edge, wiring: &mut Self::Wiring) -> (F::Edge, F::Edge);
    /// An edge that nothing reads.
    fn unread(edge: F::Edge, _: &mut Self::Wiring) {
        drop(edge);
    }
}

/// A deployment that can join two edges by number.
pub trait Joins<A: On<Self>, B: On<Self>>: BlockBackend + Sized
where
    Pair<A, B>: On<Self>,
{
    /// The two edges side by side.
    fn join(first: A::Edge, second: B::Edge, wiring: &mut Self::Wiring) -> <Pair<A, B> as On<Self>>::Edge;
}

/// A deployment that can make one edge of two with items of one type.
pub trait Merges<A: On<Self>, B: On<Self> + SameItem<A>>: BlockBackend + Sized
where
    Merged<A, B>: On<Self>,
    Otherwise<A, B>: On<Self>,
{
    /// The two lanes of a choice, as one edge.
    fn merge(left: A::Edge, right: B::Edge, wiring: &mut Self::Wiring) -> <Merged<A, B> as On<Self>>::Edge;
    /// The first edge, and the second one where the first is empty.
    fn otherwise(first: A::Edge, second: B::Edge, wiring: &mut Self::Wiring) -> <Otherwise<A, B> as On<Self>>::Edge;
}
