use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::text::Cut;
use crate::{Arrow, OfPieces, Shape, Text};
use std::{marker::PhantomData, sync::Arc};

/// A new clock: the pieces that every value is cut into. Nothing is copied.
pub struct Split<A, C> {
    /// Where it is cut, shared by every deployment.
    pub cut: Arc<C>,
    shape: PhantomData<fn() -> A>,
}
combinator!(Split<A, C>: Determinate; through :);

impl<A, C> Split<A, C> {
    pub(crate) fn new(cut: C) -> Self {
        Split { cut: Arc::new(cut), shape: PhantomData }
    }
}

impl<A: OfPieces, C: Cut<A::Kind>> Arrow for Split<A, C> {
    type In = A;
    type Out = Text<A::Kind>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, fills) = (Self::Out::BYTES, Filled::NUMBERS);
        plan.new_clock(&input, StageKind { name: C::NAME, state: None, slot_bytes, dense: true, fills })
    }
}
