use super::combinator;
use crate::plan::{Describe, Port, StageKind};
use crate::{Arrow, Density, Pair, Partitioned, Projected, Shape, Val};
use std::{marker::PhantomData, sync::Arc};

/// Every value in one of two lanes, by a predicate.
///
/// It writes a ring of answers, which is read beside the input: no value is copied.
pub struct Partition<A, F> {
    /// Whether a value goes left, shared by every deployment.
    pub is_left: Arc<F>,
    shape: PhantomData<fn() -> A>,
}
combinator!(Partition<A, F>: KeepsClock Quiet Shardable Determinate; through :);

/// The answers of a [`Partition`], and its input, side by side.
pub type WithVerdict<A> = Pair<Val<bool, <A as Shape>::Density>, A>;

/// The output of a [`Partition`]: a choice whose lanes are parts of the same edge.
pub type InLanes<A> = Projected<WithVerdict<A>, Partitioned>;

impl<A, F> Partition<A, F> {
    pub(crate) fn new(is_left: F) -> Self {
        Partition { is_left: Arc::new(is_left), shape: PhantomData }
    }
}

impl<A: Shape, F> Arrow for Partition<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) -> bool + Send + Sync + 'static,
{
    type In = A;
    type Out = InLanes<A>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Val::<bool, A::Density>::BYTES, A::Density::DENSE);
        let kind = StageKind { name: "partition", state: None, slot_bytes, dense, fills: input.filled() };
        let judged = plan.stage(&input, kind);
        plan.beside(&judged, &input)
    }
}
