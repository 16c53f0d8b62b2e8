use super::combinator;
use super::dead_letter::{DeadLetter, DeadLetters, Outcome, SuccessLane};
use super::fallible_step::FallibleStep;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Item, Shape, ToOwnedItem, Val};
use std::sync::Arc;

/// A scan whose function can fail, and the receiver of its failures. A failure leaves the state as it was.
pub struct TryScanOrDeadLetter<A, T, E, G> {
    /// The step, shared by every deployment.
    pub step: Arc<T>,
    /// The receiver of the failures.
    pub letters: DeadLetters<A, E, G>,
}
combinator!(TryScanOrDeadLetter<A, T, E, G>: KeepsClock Quiet Determinate; through :);

impl<A, T, E, G> Clone for TryScanOrDeadLetter<A, T, E, G> {
    fn clone(&self) -> Self {
        TryScanOrDeadLetter { step: self.step.clone(), letters: self.letters.clone() }
    }
}

impl<A, T, E, G> TryScanOrDeadLetter<A, T, E, G> {
    pub(crate) fn new(step: T, letters: DeadLetters<A, E, G>) -> Self {
        TryScanOrDeadLetter { step: Arc::new(step), letters }
    }
}

impl<A: ToOwnedItem, T: FallibleStep<A>, G> TryScanOrDeadLetter<A, T, T::Error, G>
where
    T::Error: Item,
{
    /// The outcome of one value. After a failure the state is as before.
    pub fn judge(&self, state: &mut T::State, value: A::Ref<'_>) -> Outcome<A, T::Out, T::Error> {
        self.letters.outcome(value, self.step.attempt(state, value))
    }
}

impl<A: ToOwnedItem, T: FallibleStep<A>, G> Arrow for TryScanOrDeadLetter<A, T, T::Error, G>
where
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    type In = A;
    type Out = SuccessLane<A, T::Out, T::Error>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Val::<Outcome<A, T::Out, T::Error>, A::Density>::BYTES, A::Density::DENSE);
        let (state, fills) = (Some(StateType::of::<T::State>()), input.filled());
        let kind = StageKind { name: "try_scan_or_dead_letter", state, slot_bytes, dense, fills };
        plan.named(&self.letters.name, |plan| plan.stage(&input, kind))
    }
}
