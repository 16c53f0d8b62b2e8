//! Stages of owned values, and partitions: each slot from the input's alone.

use super::{Extent, Model, ModelShape, On, Slots, column};
use crate::pipe::{Cloned, InLanes, MapOwned, OwnedBy, Partition};
use crate::{Deploy, Item, ToOwnedItem};

impl<A: ModelShape + ToOwnedItem, F, B: Item> Deploy<Model> for OwnedBy<MapOwned<A, F, B>>
where
    F: Fn(A::Owned) -> B + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<B> {
        column::<A, B>(&input, *extent, |a, _| Some((self.kernel.f)(A::to_owned_item(a?))))
    }
}

impl<A: ModelShape + ToOwnedItem> Deploy<Model> for OwnedBy<Cloned<A>> {
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<A::Owned> {
        column::<A, _>(&input, *extent, |a, _| a.map(A::to_owned_item))
    }
}

impl<A: ModelShape, F> Deploy<Model> for Partition<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> <InLanes<A> as On<Model>>::Edge {
        (column::<A, bool>(&input, *extent, |a, _| Some((self.is_left)(a?))), input)
    }
}
