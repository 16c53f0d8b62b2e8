use super::dead_letter::Fault;
use super::fallible_step::{FallibleStep, after};
use super::scan_kernel::ScanKernel;
use crate::failure::caught;
use crate::model::ModelSlots;
use crate::{Item, KeepsClock, Quiet, SequenceNumber, Shape};
use std::marker::PhantomData;

/// A Mealy kernel that can fail. A failure is the output, and leaves the state as it was.
pub struct TryScanOrError<A, T> {
    /// The step.
    pub step: T,
    shape: PhantomData<fn() -> A>,
}
super::debug!(TryScanOrError<A, T>);

impl<A, T> TryScanOrError<A, T> {
    pub(crate) fn new(step: T) -> Self {
        TryScanOrError { step, shape: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<A, T> KeepsClock for TryScanOrError<A, T> {}
#[diagnostic::do_not_recommend]
impl<A, T> Quiet for TryScanOrError<A, T> {}

impl<A: Shape, T: FallibleStep<A>> ScanKernel for TryScanOrError<A, T>
where
    T::Error: Item,
{
    type In = A;
    type Out = Result<T::Out, Fault<T::Error>>;
    type Density = A::Density;
    type State = T::State;
    const NAME: &'static str = "try_scan_or_error";
    const COUNTS_FAILURES: bool = true;

    fn start(&self) -> T::State {
        self.step.start()
    }

    fn is_failure(output: Option<&Self::Out>) -> bool {
        matches!(output, Some(Err(_)))
    }

    #[inline]
    fn step(&self, state: &mut T::State, _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<Self::Out> {
        slot.map(|value| Fault::of(self.step.attempt(state, value)))
    }

    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<Self::Out>> {
        let mut state = self.step.start();
        slots.map(|a, _| {
            let a = a?;
            let after = Fault::of(caught(|| after::<A, T>(&self.step, &state, a)));
            Some(after.map(|(next, output)| {
                state = next;
                output
            }))
        })
    }
}
