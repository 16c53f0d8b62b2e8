use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Item, Shape, Val};
use std::{marker::PhantomData, sync::Arc};

/// A function applied to every value.
pub struct Map<A, F, B> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> (A, B)>,
}
combinator!(Map<A, F, B>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F, B> Map<A, F, B> {
    pub(crate) fn new(f: F) -> Self {
        Map { f: Arc::new(f), shape: PhantomData }
    }
}

impl<A: Shape, F, B: Item> Arrow for Map<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Val<B, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, A::Density::DENSE);
        plan.stage(&input, StageKind { name: "map", state: None, slot_bytes, dense, fills: input.filled() })
    }
}
