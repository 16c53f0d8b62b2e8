use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Filtered, Shape};
use std::{marker::PhantomData, sync::Arc};

/// The same slots, some of them masked.
pub struct Filter<A, F> {
    /// Returns whether a value is kept. Shared by every deployment.
    pub keep: Arc<F>,
    shape: PhantomData<fn() -> A>,
}
combinator!(Filter<A, F>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, F> Filter<A, F> {
    pub(crate) fn new(keep: F) -> Self {
        Filter { keep: Arc::new(keep), shape: PhantomData }
    }
}

impl<A: Shape, F> Arrow for Filter<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Out = Filtered<A>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (size_of::<bool>(), A::Density::DENSE);
        let mask =
            plan.stage(&input, StageKind { name: "filter", state: None, slot_bytes, dense, fills: input.filled() });
        plan.masked(&input, &mask)
    }
}
