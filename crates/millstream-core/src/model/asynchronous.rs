//! Futures: one is waited for after the other.

use super::{Extent, Listed, Model, column};
use crate::Deploy;
use crate::pipe::{MapAsync, Settle};
use std::future::Future;
use std::sync::Arc;

impl<A: Listed, F, Fut, P: Settle<Fut::Output>> Deploy<Model> for MapAsync<A, F, Fut, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> Fut + Send + Sync + 'static,
    Fut: Future<Output: Send> + Send + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Arc<Vec<Option<P::Value>>> {
        column::<A, P::Value>(&input, *extent, |a, _| self.wait_for(a?))
    }
}
