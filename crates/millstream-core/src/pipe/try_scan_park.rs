use super::combinator;
use super::dead_letter::{DeadLetter, DeadLetters, Outcome, SuccessLane};
use super::fallible_step::FallibleStep;
use super::park::{Parked, ParkedKeys};
use crate::keys::Key;
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Density, Item, SequenceNumber, Shape, ToOwnedItem, Val};
use std::sync::Arc;

/// A scan whose function can fail, applied to every value whose key has not failed before. The other values go to the
/// receiver of its failures.
pub struct TryScanOrPark<A, K, L, T, E, G> {
    /// The step, shared by every deployment.
    pub step: Arc<T>,
    /// The receiver of failures and parked values.
    pub letters: DeadLetters<A, E, G>,
    /// The keys that it parks.
    pub keys: ParkedKeys<K, L>,
}
combinator!(TryScanOrPark<A, K, L, T, E, G>: KeepsClock Quiet Determinate; through :);

/// The state of a scan that parks keys.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "K: serde::Serialize, S: serde::Serialize",
        deserialize = "K: serde::Deserialize<'de> + std::hash::Hash + Eq, S: serde::Deserialize<'de>"
    ))
)]
pub struct WithParked<K, S> {
    /// The parked keys.
    pub parked: Parked<K>,
    /// The state of the scan.
    pub state: S,
}

impl<A, K, L, T, E, G> Clone for TryScanOrPark<A, K, L, T, E, G> {
    fn clone(&self) -> Self {
        TryScanOrPark { step: self.step.clone(), letters: self.letters.clone(), keys: self.keys.clone() }
    }
}

impl<A, K, L, T, E, G> TryScanOrPark<A, K, L, T, E, G> {
    pub(crate) fn new(step: T, letters: DeadLetters<A, E, G>, keys: ParkedKeys<K, L>) -> Self {
        TryScanOrPark { step: Arc::new(step), letters, keys }
    }
}

impl<A: ToOwnedItem, K: Key, L, T: FallibleStep<A>, G> TryScanOrPark<A, K, L, T, T::Error, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K,
    T::Error: Item,
{
    /// The state before the first value.
    pub fn start(&self) -> WithParked<K, T::State> {
        WithParked { parked: Parked::default(), state: self.step.start() }
    }

    /// The outcome of the value of a number. It may park the value's key. After a failure the scan's state is as
    /// before.
    ///
    /// Unwinds if too many keys are parked.
    pub fn judge(
        &self,
        WithParked { parked, state }: &mut WithParked<K, T::State>,
        number: SequenceNumber,
        value: A::Ref<'_>,
    ) -> Outcome<A, T::Out, T::Error> {
        self.keys
            .judge::<A, _, _>(parked, number, value, || self.letters.outcome(value, self.step.attempt(state, value)))
    }
}

impl<A: ToOwnedItem, K: Key, L, T: FallibleStep<A>, G> Arrow for TryScanOrPark<A, K, L, T, T::Error, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    T::Error: Item,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, T::Error>) + Send + Sync + 'static,
{
    type In = A;
    type Out = SuccessLane<A, T::Out, T::Error>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Val::<Outcome<A, T::Out, T::Error>, A::Density>::BYTES, A::Density::DENSE);
        let (state, fills) = (Some(StateType::of::<WithParked<K, T::State>>()), input.filled());
        let kind = StageKind { name: "try_scan_or_park", state, slot_bytes, dense, fills };
        plan.named(&self.letters.name, |plan| plan.keyed_stage(&input, kind, self.keys.most))
    }
}
