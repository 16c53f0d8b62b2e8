use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Item, Shape, Sparse, Val};
use std::{marker::PhantomData, sync::Arc};

/// A function applied to every value that may leave the slot empty: the article's `NoOutput`, without an item for it.
pub struct FilterMap<A, F, B> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> (A, B)>,
}
combinator!(FilterMap<A, F, B>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F, B> FilterMap<A, F, B> {
    pub(crate) fn new(f: F) -> Self {
        FilterMap { f: Arc::new(f), shape: PhantomData }
    }
}

impl<A: Shape, F, B: Item> Arrow for FilterMap<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> Option<B> + Send + Sync + 'static,
{
    type In = A;
    type Out = Val<B, Sparse>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let slot_bytes = Self::Out::BYTES;
        let fills = input.filled();
        plan.stage(&input, StageKind { name: "filter_map", state: None, slot_bytes, dense: false, fills })
    }
}
