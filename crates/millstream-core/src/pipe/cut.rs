use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::text::Cut;
use crate::{Arrow, Flow, OfPieces, Text};
use std::{marker::PhantomData, sync::Arc};

/// A new clock: the pieces that every value is cut into. Nothing is copied.
pub struct Cuts<A, C> {
    /// Where it is cut, shared by every deployment.
    pub cut: Arc<C>,
    shape: PhantomData<fn() -> A>,
}
combinator!(Cuts<A, C>: Determinate; through :);

impl<A, C> Cuts<A, C> {
    pub(crate) fn new(cut: C) -> Self {
        Cuts { cut: Arc::new(cut), shape: PhantomData }
    }
}

impl<A: OfPieces, C: Cut<A::Kind>> Arrow for Cuts<A, C> {
    type In = A;
    type Out = Text<A::Kind>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, fills) = (Self::Out::BYTES, Filled::NUMBERS);
        plan.new_clock(&input, StageKind { name: C::NAME, stateful: false, slot_bytes, full: true, fills })
    }
}
