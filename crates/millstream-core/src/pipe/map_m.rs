use super::scan_kernel::ScanKernel;
use crate::model::ModelSlots;
use crate::{Item, KeepsClock, Quiet, SequenceNumber, Shape};
use std::marker::PhantomData;

/// A function with effects, applied to every value in the order of the numbers: `mapM`.
pub struct MapM<A, F, B> {
    /// The function.
    pub f: F,
    shape: PhantomData<fn() -> (A, B)>,
}

impl<A, F, B> MapM<A, F, B> {
    pub(crate) fn new(f: F) -> Self {
        MapM { f, shape: PhantomData }
    }
}

impl<A, F, B> KeepsClock for MapM<A, F, B> {}
impl<A, F, B> Quiet for MapM<A, F, B> {}

impl<A: Shape, F, B: Item> ScanKernel for MapM<A, F, B>
where
    F: for<'a> Fn(A::Ref<'a>) -> B + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    type Density = A::Density;
    type State = ();
    const NAME: &'static str = "map_m";

    fn start(&self) {}

    #[inline]
    fn step(&self, (): &mut (), _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<B> {
        slot.map(|value| (self.f)(value))
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        slots.map(|a, _| a.map(|a| (self.f)(a)))
    }
}
super::debug!(MapM<A, F, B>);
