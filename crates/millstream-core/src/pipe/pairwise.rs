use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::{KeepsClock, Quiet, SequenceNumber, Sparse, ToOwnedItem};
use std::marker::PhantomData;

/// Every value with the value before it; the first slot is empty.
pub struct Pairwise<A>(PhantomData<fn() -> A>);

impl<A> Pairwise<A> {
    pub(crate) fn new() -> Self {
        Pairwise(PhantomData)
    }
}

impl<A> KeepsClock for Pairwise<A> {}
impl<A> Quiet for Pairwise<A> {}

impl<A: ToOwnedItem<Owned: Clone>> ScanKernel for Pairwise<A> {
    type In = A;
    type Out = A::Owned;
    type Density = Sparse;
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
        before.replace(A::to_owned_item(slot?))
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<A::Owned>> {
        let mut last = None;
        slots.map(|a, _| last.replace(A::to_owned_item(a?)))
    }
}
super::debug!(Pairwise<A>);
