//! Stages that end one clock and start the next: lists of values, and an empty END after them.

use super::{Extent, Model, ModelShape, Slots};
use crate::pipe::{Compact, FlatMap, Flatten, Renumber};
use crate::{Deploy, Item, ToOwnedItem};
use std::sync::Arc;

/// The values of an edge; END's is the last.
pub(super) fn values<A: ModelShape>(edge: &A::Edge) -> impl Iterator<Item = A::Ref<'_>> {
    (0..A::slots(edge)).filter_map(|n| A::at(edge, n))
}

/// Every value, and an empty END after the last one.
pub(super) fn renumbered<T>(values: impl Iterator<Item = T>, extent: Extent) -> Slots<T> {
    let end = if extent == Extent::Whole { Some(None) } else { None };
    Arc::new(values.map(|value| Some(Arc::new(value))).chain(end).collect())
}

impl<A: ModelShape, F, I> Deploy<Model> for Renumber<FlatMap<A, F, I>>
where
    I: IntoIterator<Item: Item, IntoIter: Send + 'static> + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> I + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<I::Item> {
        renumbered(values::<A>(&input).flat_map(|value| (self.expand.f)(value)), *extent)
    }
}

impl<A: ModelShape + ToOwnedItem<Owned: IntoIterator<Item: Item, IntoIter: Send + 'static>>> Deploy<Model>
    for Renumber<Flatten<A>>
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<<A::Owned as IntoIterator>::Item> {
        renumbered(values::<A>(&input).flat_map(A::to_owned_item), *extent)
    }
}

impl<A: ModelShape + ToOwnedItem> Deploy<Model> for Renumber<Compact<A>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        renumbered(values::<A>(&input).map(A::to_owned_item), *extent)
    }
}
