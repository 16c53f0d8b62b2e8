//! The number of every value. It reads numbers and not values alone, so laws about empty slots do not hold for it:
//! `p.compact().enumerate()` counts values, and `p.enumerate().compact()` has numbers left out.

use super::machine::Machine;
use crate::{Flow, Quiet, SequenceNumber};
use std::marker::PhantomData;

/// At every value its number.
pub struct Number<A>(PhantomData<fn() -> A>);

impl<A> Number<A> {
    pub(crate) fn new() -> Self {
        Number(PhantomData)
    }
}

impl<A> Quiet for Number<A> {}

impl<A: Flow> Machine for Number<A> {
    type In = A;
    type Out = SequenceNumber;
    type Density = A::Density;
    type State = ();
    const NAME: &'static str = "enumerate";

    fn start(&self) {}

    #[inline]
    fn step(&self, (): &mut (), n: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<SequenceNumber> {
        slot.map(|_| n)
    }
}
super::debug!(Number<A>);
