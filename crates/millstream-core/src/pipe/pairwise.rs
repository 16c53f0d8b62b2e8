use super::machine::Machine;
use crate::{Holed, Own, Quiet, SequenceNumber};
use std::marker::PhantomData;

/// At every value the one before it; empty at the first.
pub struct Before<A>(PhantomData<fn() -> A>);

impl<A> Before<A> {
    pub(crate) fn new() -> Self {
        Before(PhantomData)
    }
}

impl<A> Quiet for Before<A> {}

impl<A: Own<Owned: Clone>> Machine for Before<A> {
    type In = A;
    type Out = A::Owned;
    type Density = Holed;
    type State = Option<A::Owned>;
    const NAME: &'static str = "pairwise";

    fn start(&self) -> Option<A::Owned> {
        None
    }

    #[inline]
    fn step(
        &self,
        before: &mut Option<A::Owned>,
        _: SequenceNumber,
        slot: Option<A::Ref<'_>>,
        _: bool,
    ) -> Option<A::Owned> {
        before.replace(A::own(slot?))
    }
}
super::debug!(Before<A>);
