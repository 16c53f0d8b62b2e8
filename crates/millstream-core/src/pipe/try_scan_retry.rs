use super::combinator;
use super::fallible_step::FallibleStep;
use crate::failure::{Retry, finish};
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Shape, Val};
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

/// A scan whose function can fail, and is then tried again from the state of before.
pub struct TryScanRetry<A, T> {
    /// The step, shared by every deployment.
    pub step: Arc<T>,
    /// How often it is tried again.
    pub retry: Retry,
    shape: PhantomData<fn() -> A>,
}
combinator!(TryScanRetry<A, T>: KeepsClock Quiet Determinate; through :);

impl<A, T> Clone for TryScanRetry<A, T> {
    fn clone(&self) -> Self {
        TryScanRetry { step: self.step.clone(), retry: self.retry, shape: PhantomData }
    }
}

impl<A, T> TryScanRetry<A, T> {
    pub(crate) fn new(step: T, retry: Retry) -> Self {
        TryScanRetry { step: Arc::new(step), retry, shape: PhantomData }
    }
}

impl<A: Shape, T: FallibleStep<A>> TryScanRetry<A, T> {
    /// The output of one value. `tried` gets the result of each try, and `wait` is how a deployment waits.
    ///
    /// Unwinds if every try fails, or one panics.
    pub fn judge(
        &self,
        state: &mut T::State,
        value: A::Ref<'_>,
        mut tried: impl FnMut(Result<T::Out, T::Error>) -> Result<T::Out, T::Error>,
        wait: impl Fn(Duration),
    ) -> T::Out {
        self.retry.run(|| tried(finish(self.step.attempt(state, value))), wait)
    }
}

impl<A: Shape, T: FallibleStep<A>> Arrow for TryScanRetry<A, T> {
    type In = A;
    type Out = Val<T::Out, A::Density>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, A::Density::DENSE, input.filled());
        let state = Some(StateType::of::<T::State>());
        plan.blocking_stage(&input, StageKind { name: "try_scan_retry", state, slot_bytes, dense, fills })
    }
}
