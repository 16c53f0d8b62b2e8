//! Futures: each is awaited before the next one starts.

use super::clock::{renumbered, values};
use super::{Extent, Model, ModelShape, Slots, column};
use crate::pipe::{MapAsync, Settle, Unordered};
use crate::{Deploy, Item};
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
