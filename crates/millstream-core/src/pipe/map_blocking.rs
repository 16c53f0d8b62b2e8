use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Item, Shape, Val};
use std::{marker::PhantomData, sync::Arc};

/// A function that may wait, applied to every value.
pub struct MapBlocking<A, F, B> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> (A, B)>,
}
combinator!(MapBlocking<A, F, B>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F, B> MapBlocking<A, F, B> {
    pub(crate) fn new(f: F) -> Self {
        MapBlocking { f: Arc::new(f), shape: PhantomData }
    }
}

impl<A: Shape, F, B: Item> Arrow for MapBlocking<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Val<B, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, A::Density::DENSE, input.filled());
        plan.blocking_stage(&input, StageKind { name: "map_blocking", state: None, slot_bytes, dense, fills })
    }
}
