//! An edge whose shape is known only at run time.

use super::{Extent, Model, ModelShape, SlotOf};
use crate::pipe::ToAnyEdge;
use crate::{AnyEdge, Deploy, Item, ItemShape, On};
use std::sync::Arc;

/// The slots of an edge of any shape. Copies share them.
pub struct AnySlots<T>(Arc<dyn Slots<T>>);

trait Slots<T> {
    fn slots(&self) -> usize;
    fn at(&self, n: usize) -> Option<&T>;
}

/// An edge of this shape.
struct Of<A: ModelShape>(A::Edge);

impl<A: ModelShape + ItemShape> Slots<A::Item> for Of<A> {
    fn slots(&self) -> usize {
        A::slots(&self.0)
    }
    fn at(&self, n: usize) -> Option<&A::Item> {
        A::at(&self.0, n).map(A::item)
    }
}

/// One edge made of several: slot `n` is the one at `from[n]`.
struct Gathered<T> {
    edges: Vec<AnySlots<T>>,
    from: Vec<Option<SlotOf>>,
}

impl<T> Slots<T> for Gathered<T> {
    fn slots(&self) -> usize {
        self.from.len()
    }
    fn at(&self, n: usize) -> Option<&T> {
        let SlotOf { edge, slot } = self.from[n]?;
        self.edges[edge].0.at(slot)
    }
}

impl<T> Clone for AnySlots<T> {
    fn clone(&self) -> Self {
        AnySlots(self.0.clone())
    }
}

impl<T> std::fmt::Debug for AnySlots<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnySlots").field("slots", &self.0.slots()).finish_non_exhaustive()
    }
}

impl<T: Item> On<Model> for AnyEdge<T> {
    type Edge = AnySlots<T>;
}

impl<T: Item> ModelShape for AnyEdge<T> {
    fn slots(edge: &AnySlots<T>) -> usize {
        edge.0.slots()
    }
    fn at(edge: &AnySlots<T>, n: usize) -> Option<&T> {
        edge.0.at(n)
    }
    fn gathered(edges: &[AnySlots<T>], from: &[Option<SlotOf>]) -> AnySlots<T> {
        AnySlots(Arc::new(Gathered { edges: edges.to_vec(), from: from.to_vec() }))
    }
}

impl<A: ModelShape + ItemShape> Deploy<Model> for ToAnyEdge<A> {
    fn deploy(&self, input: A::Edge, _: &mut Extent) -> AnySlots<A::Item> {
        AnySlots(Arc::new(Of::<A>(input)))
    }
}
