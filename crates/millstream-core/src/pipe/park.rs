use super::combinator;
use super::dead_letter::{DeadLetter, FailedItem, Fault, Outcome, SuccessLane, TryMapOrDeadLetter};
use super::shard_by::Key;
use crate::failure::fail;
use crate::keys::{Bound, Stable};
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Cause, Density, Either, Item, SequenceNumber, Shape, ToOwnedItem, Val};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;

/// A function that can fail, applied to every value whose key has not failed before. The other values go to the
/// receiver of its failures.
pub struct TryMapOrPark<A, K, L, F, B, E, G> {
    /// The function, and the receiver of failures and parked values.
    pub letters: TryMapOrDeadLetter<A, F, B, E, G>,
    /// The key of a value, shared by every deployment.
    pub key: Arc<L>,
    /// The most keys that can be parked.
    pub most: usize,
    shape: PhantomData<fn() -> K>,
}
combinator!(TryMapOrPark<A, K, L, F, B, E, G>: KeepsClock Quiet Determinate; through :);

/// The parked keys, and the number at which each failed.
pub type Parked<K> = HashMap<K, SequenceNumber, Stable>;

impl<A, K, L, F, B, E, G> Clone for TryMapOrPark<A, K, L, F, B, E, G> {
    fn clone(&self) -> Self {
        let (letters, key) = (self.letters.clone(), self.key.clone());
        TryMapOrPark { letters, key, most: self.most, shape: PhantomData }
    }
}

impl<A, K, L, F, B, E, G> TryMapOrPark<A, K, L, F, B, E, G> {
    pub(crate) fn new(most: usize, letters: TryMapOrDeadLetter<A, F, B, E, G>, key: L) -> Self {
        TryMapOrPark { letters, key: Arc::new(key), most, shape: PhantomData }
    }
}

impl<A: ToOwnedItem, K: Key, L, F, B: Item, E: Cause + Item, G> TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E>,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>),
{
    /// The outcome of the value of a number. It may park the value's key.
    ///
    /// Unwinds if too many keys are parked.
    pub fn judge(&self, parked: &mut Parked<K>, number: SequenceNumber, value: A::Ref<'_>) -> Outcome<A, B, E> {
        let key = (self.key)(value);
        // The key is dropped before the outcome is made: a panic of its drop would leak the outcome.
        if let Some(first) = parked.get(&key).copied() {
            drop(key);
            return Either::Left(Box::new(FailedItem { input: A::to_owned_item(value), fault: Fault::Parked(first) }));
        }
        let judged = self.letters.judge(value);
        if judged.is_right() {
            drop(key);
            return judged;
        }
        if parked.len() == self.most {
            fail(Bound::refuse(self.most).refusal());
        }
        parked.insert(key, number);
        judged
    }
}

impl<A: ToOwnedItem, K: Key, L, F, B: Item, E: Cause + Item, G> Arrow for TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E> + Send + Sync + 'static,
    G: for<'a> Fn(DeadLetter<'a, A::Owned, E>) + Send + Sync + 'static,
{
    type In = A;
    type Out = SuccessLane<A, B, E>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense) = (Val::<Outcome<A, B, E>, A::Density>::BYTES, A::Density::DENSE);
        let kind = StageKind {
            name: "try_map_or_park",
            state: Some(StateType::of::<Parked<K>>()),
            slot_bytes,
            dense,
            fills: input.filled(),
        };
        plan.named(&self.letters.name, |plan| plan.keyed_stage(&input, kind, self.most))
    }
}
