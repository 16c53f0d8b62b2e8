//! The number of every value. This stage reads numbers and not values alone, and laws about empty slots do not hold
//! for it: `p.compact().enumerate()` counts values, and `p.enumerate().compact()` skips the numbers of empty slots.

use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::{KeepsClock, Quiet, SequenceNumber, Shape};
use std::marker::PhantomData;

/// Every value with its number.
pub struct Enumerate<A>(PhantomData<fn() -> A>);

impl<A> Enumerate<A> {
    pub(crate) fn new() -> Self {
        Enumerate(PhantomData)
    }
}

impl<A> KeepsClock for Enumerate<A> {}
impl<A> Quiet for Enumerate<A> {}

impl<A: Shape> ScanKernel for Enumerate<A> {
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

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<SequenceNumber>> {
        slots.map_numbered(|n, a, _| a.map(|_| n))
    }
}
super::debug!(Enumerate<A>);
