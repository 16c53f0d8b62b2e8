use super::combinator;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Item, Shape, Val};
use std::{marker::PhantomData, sync::Arc};

/// A Mealy machine: a function of the state and every value.
pub struct Scan<A, S, F, B> {
    /// The state that every deployment starts from.
    pub state: S,
    /// The machine's step, shared by every deployment.
    pub f: Arc<F>,
    shape: PhantomData<fn() -> (A, B)>,
}
combinator!(Scan<A, S, F, B>: KeepsClock Quiet Determinate; through :);

impl<A, S, F, B> Scan<A, S, F, B> {
    pub(crate) fn new(state: S, f: F) -> Self {
        Scan { state, f: Arc::new(f), shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, B: Item> Arrow for Scan<A, S, F, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Val<B, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, A::Density::DENSE);
        plan.stage(
            &input,
            StageKind { name: "scan", state: Some(StateType::of::<S>()), slot_bytes, dense, fills: input.filled() },
        )
    }
}
