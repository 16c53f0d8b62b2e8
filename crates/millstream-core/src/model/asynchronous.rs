//! Futures: each is awaited before the next one starts.

use super::clock::{renumbered, values};
use super::{Extent, Model, ModelShape, Slots, column};
use crate::pipe::{DeadLetter, MapAsync, Outcome, Settle, TryMapAsyncOrDeadLetter, Unordered};
use crate::{Cause, Deploy, Item, ToOwnedItem};
use std::future::Future;

impl<A: ModelShape, F, Fut, P: Settle<Fut::Output>> Deploy<Model> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<P::Value> {
        column::<A, P::Value>(&input, extent, |a, _| self.wait_for(a?))
    }
}

impl<A: ModelShape + ToOwnedItem, F, Fut, B: Item, E: Cause + Item, G> Deploy<Model>
    for TryMapAsyncOrDeadLetter<A, F, Fut, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<B, E>> + Send + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, B, E>> {
        let judged = column::<A, Outcome<A, B, E>>(&input, extent, |a, _| Some(self.wait_for(a?)));
        self.letters.deliver_all(&judged, extent);
        judged
    }
}

/// One of the possible outputs: a run yields these values in any order.
impl<A: ModelShape, F, Fut> Deploy<Model> for Unordered<A, F, Fut>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Item> + Send + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Fut::Output> {
        renumbered(values::<A>(&input).map(|value| self.wait_for(value)), extent)
    }
}
