//! Failures that leave a slot empty, and are delivered in the order of their numbers.

use super::{Extent, Model, ModelShape, Slots, column};
use crate::failure::caught;
use crate::pipe::{DeadLetter, DeadLetters, FallibleStep, Outcome, TryMapOrDeadLetter, TryScanOrDeadLetter, after};
use crate::{Cause, Deploy, Either, Item, ToOwnedItem};

impl<A: ModelShape + ToOwnedItem, F, B: Item, E: Cause + Item, G> Deploy<Model> for TryMapOrDeadLetter<A, F, B, E, G>
where
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, B, E>> {
        let judged = column::<A, Outcome<A, B, E>>(&input, extent, |a, _| Some(self.judge(a?)));
        self.letters.deliver_all(&judged, extent);
        judged
    }
}

/// The state goes on from the last value that did not fail.
impl<A: ModelShape + ToOwnedItem, T: FallibleStep<A>, G> Deploy<Model> for TryScanOrDeadLetter<A, T, T::Error, G>
where
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    fn deploy(&self, input: A::Edge, extent: &mut Extent) -> Slots<Outcome<A, T::Out, T::Error>> {
        let mut state = self.step.start();
        let judged = column::<A, _>(&input, extent, |a, _| Some(tried(&self.letters, &*self.step, &mut state, a?)));
        self.letters.deliver_all(&judged, extent);
        judged
    }
}

/// The outcome of a step at one value. The state goes on if the step does not fail.
pub(super) fn tried<A: ToOwnedItem, T: FallibleStep<A>, G>(
    letters: &DeadLetters<A, T::Error, G>,
    step: &T,
    state: &mut T::State,
    value: A::Ref<'_>,
) -> Outcome<A, T::Out, T::Error>
where
    T::Error: Item,
{
    match letters.outcome(value, caught(|| after::<A, T>(step, state, value))) {
        Either::Left(failure) => Either::Left(failure),
        Either::Right((next, output)) => {
            *state = next;
            Either::Right(output)
        }
    }
}

impl<A: ToOwnedItem, E: Item, G> DeadLetters<A, E, G>
where
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>),
{
    /// Delivers every failure.
    pub(super) fn deliver_all<B>(&self, judged: &Slots<Outcome<A, B, E>>, extent: &Extent) {
        // A loop computes a part at every number, but each failure is delivered once.
        if !extent.has_end() {
            return;
        }
        for (n, slot) in judged.iter().enumerate() {
            if let Some(dead) = slot.as_deref().and_then(|judged| judged.as_ref().left()) {
                self.deliver(extent.number(n), dead);
            }
        }
    }
}
