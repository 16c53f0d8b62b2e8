use super::scan_kernel::ScanKernel;
use super::try_map::{LeaveEmpty, Policy, Stop};
use crate::failure::{Cause, attempt, fail};
use crate::model::ModelSlots;
use crate::{Item, KeepsClock, Quiet, SequenceNumber, Shape};
use std::marker::PhantomData;

/// A Mealy kernel that can fail. What a failure does is its policy, `P`.
pub struct TryScan<A, S, F, B, E, P> {
    /// The state before the first value.
    pub state: S,
    /// The step.
    pub f: F,
    /// What a failure does.
    pub policy: P,
    shape: Phantom<A, B, E>,
}
super::debug!(TryScan<A, S, F, B, E, P>);

type Phantom<A, B, E> = PhantomData<fn() -> (A, B, E)>;

/// What a failure at one value does to the state.
pub trait ScanPolicy: Policy {
    /// The combinator's name.
    const SCAN: &'static str;
    /// The output of one value, or an empty slot with the state of before; or it ends the run.
    fn step<S: Clone, B, E: Cause>(state: &mut S, f: impl FnOnce(&mut S) -> Result<B, E>) -> Option<B>;
}

impl ScanPolicy for Stop {
    const SCAN: &'static str = "try_scan";

    fn step<S: Clone, B, E: Cause>(state: &mut S, f: impl FnOnce(&mut S) -> Result<B, E>) -> Option<B> {
        Some(f(state).unwrap_or_else(|error| fail(error)))
    }
}

impl ScanPolicy for LeaveEmpty {
    const SCAN: &'static str = "try_scan_or_empty";

    fn step<S: Clone, B, E: Cause>(state: &mut S, f: impl FnOnce(&mut S) -> Result<B, E>) -> Option<B> {
        let mut before = state.clone();
        let output = attempt(|| f(state));
        if output.is_none() {
            std::mem::swap(state, &mut before);
        }
        // Here, and not on the way out: there a panic of the state's drop would leak the output (rust-lang/rust#47949).
        drop(before);
        output
    }
}

impl<A, S, F, B, E, P> TryScan<A, S, F, B, E, P> {
    pub(crate) fn new(state: S, f: F, policy: P) -> Self {
        TryScan { state, f, policy, shape: PhantomData }
    }
}

#[diagnostic::do_not_recommend]
impl<A, S, F, B, E, P> KeepsClock for TryScan<A, S, F, B, E, P> {}
#[diagnostic::do_not_recommend]
impl<A, S, F, B, E, P> Quiet for TryScan<A, S, F, B, E, P> {}

impl<A: Shape, S: Item + Clone, F, B: Item, E: Cause, P: ScanPolicy> ScanKernel for TryScan<A, S, F, B, E, P>
where
    F: for<'a> Fn(&mut S, A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
{
    type In = A;
    type Out = B;
    type Density = P::Density<A::Density>;
    type State = S;
    const NAME: &'static str = P::SCAN;
    const EMPTY_IS_FAILURE: bool = true;

    fn start(&self) -> S {
        self.state.clone()
    }

    #[inline]
    fn step(&self, state: &mut S, _: SequenceNumber, slot: Option<A::Ref<'_>>, _: bool) -> Option<B> {
        let value = slot?;
        P::step(state, |state| (self.f)(state, value))
    }

    /// A failure that ends the run unwinds.
    fn model(&self, slots: ModelSlots<'_, A>) -> Vec<Option<B>> {
        let mut state = self.state.clone();
        slots.map(|a, _| {
            let a = a?;
            let (next, output) = self.policy.judge(
                || {
                    let mut next = state.clone();
                    (self.f)(&mut next, a).map(|output| (next, output))
                },
                |_| (),
            )?;
            state = next;
            Some(output)
        })
    }
}
