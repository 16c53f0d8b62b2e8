use super::fallible_step::{FallibleStep, after};
use super::scan_kernel::ScanKernel;
use super::try_map::{LeaveEmpty, Policy, Stop};
use crate::failure::{Cause, discard, fail};
use crate::model::ModelSlots;
use crate::{KeepsClock, Quiet, SequenceNumber, Shape};
use std::marker::PhantomData;

/// A Mealy kernel that can fail. Its policy for failures is `P`.
pub struct TryScan<A, T, P> {
    /// The step.
    pub step: T,
    /// A policy for failures.
    pub policy: P,
    shape: PhantomData<fn() -> A>,
}
super::debug!(TryScan<A, T, P>);

/// The policy for the state after a failure at one value.
pub trait ScanPolicy: Policy {
    /// The combinator's name.
    const SCAN: &'static str;
    /// The result of a call, or nothing if it fails; or it ends the run.
    fn kept<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>) -> Option<B>;
    /// The output of one value, or an empty slot with the state of before; or it ends the run.
    fn step<A: Shape, T: FallibleStep<A>>(step: &T, state: &mut T::State, value: A::Ref<'_>) -> Option<T::Out>;
}

impl ScanPolicy for Stop {
    const SCAN: &'static str = "try_scan";

    fn kept<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>) -> Option<B> {
        self.judge(f, |_| ())
    }

    fn step<A: Shape, T: FallibleStep<A>>(step: &T, state: &mut T::State, value: A::Ref<'_>) -> Option<T::Out> {
        Some(step.call(state, value).unwrap_or_else(|error| fail(error)))
    }
}

impl ScanPolicy for LeaveEmpty {
    const SCAN: &'static str = "try_scan_or_empty";

    fn kept<B, E: Cause>(&self, f: impl Fn() -> Result<B, E>) -> Option<B> {
        self.judge(f, |_| ())
    }

    fn step<A: Shape, T: FallibleStep<A>>(step: &T, state: &mut T::State, value: A::Ref<'_>) -> Option<T::Out> {
        step.attempt(state, value).map_err(discard).ok()?.ok()
    }
}

impl<A, T, P> TryScan<A, T, P> {
    pub(crate) fn new(step: T, policy: P) -> Self {
        TryScan { step, policy, shape: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<A, T, P> KeepsClock for TryScan<A, T, P> {}
#[diagnostic::do_not_recommend]
impl<A, T, P> Quiet for TryScan<A, T, P> {}

impl<A: Shape, T: FallibleStep<A>, P: ScanPolicy> ScanKernel for TryScan<A, T, P> {
    type In = A;
    type Out = T::Out;
    type Density = P::Density<A::Density>;
    type State = T::State;
    const NAME: &'static str = P::SCAN;
    const COUNTS_FAILURES: bool = true;

    fn start(&self) -> T::State {
        self.step.start()
    }

    #[inline]
    fn step(&self, state: &mut T::State, _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<T::Out> {
        P::step::<A, T>(&self.step, state, slot?)
    }

    /// A failure that ends the run unwinds.
    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<T::Out>> {
        let mut state = self.step.start();
        slots.map(|a, _| {
            let a = a?;
            let (next, output) = self.policy.kept(|| after::<A, T>(&self.step, &state, a))?;
            state = next;
            Some(output)
        })
    }
}
