use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind, StateType};
use crate::{Arrow, AtEnd, Item, Shape, Val};
use std::{marker::PhantomData, sync::Arc};

/// One value at END, folded from all values.
pub struct Fold<A, S, F, G, B> {
    /// The state that every deployment starts from.
    pub state: S,
    /// Folds a value into the state. Shared by every deployment.
    pub f: Arc<F>,
    /// Makes the output of the state at END. Shared by every deployment.
    pub finish: Arc<G>,
    shape: PhantomData<fn() -> (A, B)>,
}
combinator!(Fold<A, S, F, G, B>: KeepsClock Determinate; through :);

impl<A, S, F, G, B> Fold<A, S, F, G, B> {
    pub(crate) fn new(state: S, f: F, finish: G) -> Self {
        Fold { state, f: Arc::new(f), finish: Arc::new(finish), shape: PhantomData }
    }
}

impl<A: Shape, S: Item + Clone, F, G, B: Item> Arrow for Fold<A, S, F, G, B>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) + Send + Sync + 'static,
    G: Fn(S) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = Val<B, AtEnd>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Self::Out::BYTES, false);
        plan.stage(
            &input,
            StageKind { name: "fold", state: Some(StateType::of::<S>()), slot_bytes, dense, fills: Filled::END },
        )
    }
}
