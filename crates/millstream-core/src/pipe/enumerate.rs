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
    /// The next slot's number.
    type State = u64;
    const NAME: &'static str = "enumerate";

    fn start(&self) -> u64 {
        0
    }

    #[inline]
    fn step(&self, next: &mut u64, slot: Option<A::Ref<'_>>, _: bool) -> Option<SequenceNumber> {
        let number = SequenceNumber(*next);
        *next += 1;
        slot.map(|_| number)
    }
}
super::debug!(Number<A>);
