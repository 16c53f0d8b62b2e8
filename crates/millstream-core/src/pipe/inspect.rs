use super::combinator;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Pair, Projected, Shape, Val, lens};
use std::{marker::PhantomData, sync::Arc};

/// A function called with every value before the stages downstream read it, and the same edge.
pub struct Inspect<A, F> {
    /// The function, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> A>,
}
combinator!(Inspect<A, F>: KeepsClock Quiet Determinate; through :);

impl<A, F> Inspect<A, F> {
    pub(crate) fn new(f: F) -> Self {
        Inspect { f: Arc::new(f), shape: PhantomData }
    }
}

/// An edge beside a ring whose cursor is the only information: how far `f` has read.
pub type Inspected<A> = Projected<Pair<A, Val<(), <A as Shape>::Density>>, lens::First>;

impl<A: Shape, F> Arrow for Inspect<A, F>
where
    F: for<'a> Fn(A::Ref<'a>) + Send + Sync + 'static,
{
    type In = A;
    type Out = Inspected<A>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Val::<(), A::Density>::BYTES, A::Density::DENSE, input.filled());
        let seen = plan
            .stage(&input, StageKind { name: "inspect", state: Some(StateType::of::<()>()), slot_bytes, dense, fills });
        plan.beside(&input, &seen)
    }
}
