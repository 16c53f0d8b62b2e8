use super::combinator;
use super::dead_letter::{DeadLetter, DeadLetters, FailedItem, Fault, Outcome, SuccessLane, TryMapOrDeadLetter};
use crate::failure::fail;
use crate::keys::Key;
use crate::keys::{Bound, Stable, TooManyKeys};
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Cause, Density, Either, Item, SequenceNumber, Shape, ToOwnedItem, Val};
use std::collections::HashMap;
#[cfg(feature = "serde")]
use std::hash::Hash;
use std::marker::PhantomData;
use std::sync::Arc;

/// A function that can fail, applied to every value whose key has not failed before. The other values go to the
/// receiver of its failures.
pub struct TryMapOrPark<A, K, L, F, B, E, G> {
    /// The function, and the receiver of failures and parked values.
    pub map: TryMapOrDeadLetter<A, F, B, E, G>,
    /// The keys that it parks.
    pub keys: ParkedKeys<K, L>,
}
combinator!(TryMapOrPark<A, K, L, F, B, E, G>: KeepsClock Quiet Determinate; through :);

/// The parked keys, and the number at which each failed.
///
/// Written down, they are a map in the order of the numbers: how a table was filled, at once or key by key, does not
/// change the bytes.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(transparent, bound(deserialize = "K: serde::Deserialize<'de> + Hash + Eq")))]
pub struct Parked<K>(Table<K>);

type Table<K> = HashMap<K, SequenceNumber, Stable>;

impl<K> Default for Parked<K> {
    fn default() -> Self {
        Parked(Table::default())
    }
}

#[cfg(feature = "serde")]
impl<K: serde::Serialize> serde::Serialize for Parked<K> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut keys: Vec<_> = self.0.iter().collect();
        keys.sort_unstable_by_key(|(_, failed)| **failed);
        serializer.collect_map(keys)
    }
}

/// Which key a value has, and how many keys can be parked.
pub struct ParkedKeys<K, L> {
    /// The most keys that can be parked.
    pub most: usize,
    key: Arc<L>,
    shape: PhantomData<fn() -> K>,
}
super::debug!(ParkedKeys<K, L>);

impl<K, L> Clone for ParkedKeys<K, L> {
    fn clone(&self) -> Self {
        ParkedKeys { most: self.most, key: self.key.clone(), shape: PhantomData }
    }
}

impl<K: Key, L> ParkedKeys<K, L> {
    /// Parks at most `most` keys.
    pub(crate) fn new(most: usize, key: L) -> Self {
        ParkedKeys { most: Bound::refuse(most).most(), key: Arc::new(key), shape: PhantomData }
    }

    /// The outcome of the value of a number: that of `judge`, unless the value's key is parked. A failure parks it.
    ///
    /// Unwinds if too many keys are parked.
    pub(crate) fn judge<A: ToOwnedItem, B, E>(
        &self,
        parked: &mut Parked<K>,
        number: SequenceNumber,
        value: A::Ref<'_>,
        judge: impl FnOnce() -> Outcome<A, B, E>,
    ) -> Outcome<A, B, E>
    where
        L: for<'a> Fn(A::Ref<'a>) -> K,
    {
        let key = (self.key)(value);
        // The key is dropped before the outcome is made: a panic of its drop would leak the outcome.
        if let Some(first) = parked.0.get(&key).copied() {
            drop(key);
            return Either::Left(Box::new(FailedItem { input: A::to_owned_item(value), fault: Fault::Parked(first) }));
        }
        let judged = judge();
        if judged.is_right() {
            drop(key);
            return judged;
        }
        // A version before may have allowed more.
        if parked.0.len() >= self.most {
            fail(TooManyKeys::kept_until_end(self.most));
        }
        parked.0.insert(key, number);
        judged
    }
}

impl<A, K, L, F, B, E, G> Clone for TryMapOrPark<A, K, L, F, B, E, G> {
    fn clone(&self) -> Self {
        TryMapOrPark { map: self.map.clone(), keys: self.keys.clone() }
    }
}

impl<A, K, L, F, B, E, G> TryMapOrPark<A, K, L, F, B, E, G> {
    pub(crate) fn new(map: TryMapOrDeadLetter<A, F, B, E, G>, keys: ParkedKeys<K, L>) -> Self {
        TryMapOrPark { map, keys }
    }

    /// The receiver of failures and parked values.
    pub fn letters(&self) -> &DeadLetters<A, E, G> {
        &self.map.letters
    }
}

impl<A: ToOwnedItem, K: Key, L, F, B: Item, E: Cause + Item, G> TryMapOrPark<A, K, L, F, B, E, G>
where
    L: for<'a> Fn(A::Ref<'a>) -> K,
    F: for<'a> Fn(A::Ref<'a>) -> Result<B, E>,
{
    /// The outcome of the value of a number. It may park the value's key.
    ///
    /// Unwinds if too many keys are parked.
    pub fn judge(&self, parked: &mut Parked<K>, number: SequenceNumber, value: A::Ref<'_>) -> Outcome<A, B, E> {
        self.keys.judge::<A, B, E>(parked, number, value, || self.map.judge(value))
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
            // By the type that is written down.
            state: Some(StateType::of::<Table<K>>()),
            slot_bytes,
            dense,
            fills: input.filled(),
        };
        plan.named(&self.letters().name, |plan| plan.keyed_stage(&input, kind, self.keys.most))
    }
}
