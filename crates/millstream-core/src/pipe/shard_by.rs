use super::combinator;
use crate::failure::fail;
use crate::keys::{Bound, FreeSlots, KeyMove, KeySlot, KeySlots};
use crate::plan::{Describe, Port, StageKind, StateType};
use crate::{Arrow, Item, Shape, Sparse, Val};
use std::hash::Hash;
use std::{marker::PhantomData, sync::Arc};

/// A body with a state of its own for every key, each of its stages run by several tasklets.
pub struct ShardBy<A, K, F, P> {
    /// The number of tasklets; at least 1.
    pub k: usize,
    /// The bound on the keys at once.
    pub bound: Bound,
    /// The key of a value, shared by every deployment.
    pub key: Arc<F>,
    /// The body.
    pub body: P,
    shape: PhantomData<fn() -> (A, K)>,
}
combinator!(ShardBy<A, K, F, P>: ; through P: KeepsClock Quiet Determinate);

impl<A, K, F, P> ShardBy<A, K, F, P> {
    pub(crate) fn new(bound: Bound, key: F, k: usize, body: P) -> Self {
        assert!(k >= 1, "shard_by(key, 0, ..): a shard needs at least one tasklet");
        ShardBy { k, bound, key: Arc::new(key), body, shape: PhantomData }
    }
}

impl<A: Shape, K: Key, F, P: Arrow<In = A>> Arrow for ShardBy<A, K, F, P>
where
    F: for<'a> Fn(A::Ref<'a>) -> K + Send + Sync + 'static,
{
    type In = A;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, fills) = (Val::<KeySlot, Sparse>::BYTES, input.filled());
        let state = Some(StateType::of::<KeySlots<K>>());
        let keys = StageKind { name: "key", state, slot_bytes, dense: false, fills };
        plan.shard_by(&input, keys, self.k, self.bound.most(), |plan| self.body.describe(input.clone(), plan))
    }
}

/// A key, by which values are grouped. Every type that qualifies implements it.
pub trait Key: Item + Hash + Eq + Clone {}
impl<K: Item + Hash + Eq + Clone> Key for K {}

/// Assigns every number the key slot of its key: the work of a deployment upstream of the body of a [`ShardBy`].
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "K: serde::Deserialize<'de> + Hash + Eq + Clone")))]
pub struct KeyRouter<K> {
    bound: Bound,
    lanes: usize,
    places: FreeSlots,
    /// The number of keys with a key slot.
    keys: usize,
    /// The key slots: one set, or inside another `shard_by` one set for each key slot of that one, by lane and place.
    key_slots: Vec<Vec<KeySlots<K>>>,
}

impl<K: Key> KeyRouter<K> {
    /// Routes to `lanes` lanes; inside another `shard_by`, to `lanes` lanes for each of its `outer` lanes.
    #[must_use]
    pub fn new(bound: Bound, lanes: usize, outer: usize) -> Self {
        KeyRouter { bound, lanes, places: FreeSlots::new(lanes * outer), keys: 0, key_slots: vec![Vec::new(); outer] }
    }

    /// The key slot of a number: none if the number's slot is empty. `outer` is the number's key slot in the
    /// `shard_by` around this one.
    ///
    /// Unwinds if there are too many keys.
    #[inline]
    pub fn key_slot(&mut self, outer: Option<KeySlot>, key: Option<K>) -> Option<KeySlot> {
        let outer = outer.unwrap_or(KeySlot { lane: 0, place: 0, fresh: false });
        let known = match (&key, self.key_slots[usize::from(outer.lane)].get_mut(outer.place as usize)) {
            (Some(key), Some(key_slots)) if !outer.fresh => key_slots.known(key),
            _ => None,
        };
        known.or_else(|| self.new_slot(outer, key))
    }

    /// The key slot of a number whose key is new, or that has none, or whose outer key is new.
    #[cold]
    fn new_slot(&mut self, KeySlot { lane, place, fresh }: KeySlot, key: Option<K>) -> Option<KeySlot> {
        let key_slots = &mut self.key_slots[usize::from(lane)];
        while key_slots.len() <= place as usize {
            key_slots.push(KeySlots::new(self.bound));
        }
        let key_slots = &mut key_slots[place as usize];
        if fresh {
            self.keys -= key_slots.len();
            key_slots.clear(&mut self.places);
        }
        let first_lane = usize::from(lane) * self.lanes;
        let before = key_slots.len();
        let key_slot = key_slots
            .key_slot(key?, first_lane as u16, self.lanes, &mut self.places)
            .unwrap_or_else(|error| fail(error));
        self.keys += key_slots.len() - before;
        Some(key_slot)
    }

    /// Goes on in the place of `start`, with its bound.
    ///
    /// # Errors
    ///
    /// If `start` has another number of lanes, forgets keys where this does not, or has no room for the keys.
    pub fn adopt(&mut self, start: &Self) -> Result<(), String> {
        let (lanes, outer) = (self.lanes, self.key_slots.len());
        if (lanes, outer) != (start.lanes, start.key_slots.len()) {
            let [old, new] = [lanes * outer, start.lanes * start.key_slots.len()];
            return Err(format!("has {new} lanes of keys, and the snapshot has {old}"));
        }
        self.bound = start.bound;
        self.key_slots.iter_mut().flatten().try_for_each(|keys| keys.set_bound(start.bound))
    }

    /// Whether this can [take over](KeyRouter::take_over) the keys of `old`; true if it has as many lanes.
    ///
    /// # Errors
    ///
    /// Why it cannot: another number of lanes inside another `shard_by`, or a bound with which the keys do not agree.
    pub fn fits(&self, old: &Self) -> Result<bool, String> {
        let lanes = |router: &Self| (router.lanes, router.key_slots.len());
        let alike = lanes(self) == lanes(old);
        if !alike && (self.key_slots.len(), old.key_slots.len()) != (1, 1) {
            let [old, new] = [old, self].map(|router| router.lanes * router.key_slots.len());
            return Err(format!(
                "has {new} lanes of keys inside those of other keys, and {old} in the running pipeline"
            ));
        }
        old.key_slots.iter().flatten().try_for_each(|keys| keys.check_bound(self.bound))?;
        Ok(alike)
    }

    /// Takes the keys of `old`, which it [fits](KeyRouter::fits), and keeps its bound and its lanes. If it has another
    /// number of lanes, returns where the state of each key was and is.
    pub fn take_over(&mut self, old: &mut Self) -> Option<Vec<KeyMove>> {
        let alike = self.lanes == old.lanes;
        std::mem::swap(&mut self.key_slots, &mut old.key_slots);
        std::mem::swap(&mut self.keys, &mut old.keys);
        let bound = self.bound;
        self.key_slots.iter_mut().flatten().for_each(|keys| keys.bound = bound);
        if alike {
            std::mem::swap(&mut self.places, &mut old.places);
            return None;
        }
        let (lanes, places) = (self.lanes, &mut self.places);
        *places = FreeSlots::new(lanes);
        Some(self.key_slots.iter_mut().flatten().flat_map(|keys| keys.spread(lanes, places)).collect())
    }

    /// The number of keys with a key slot.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }
}

/// The states of the keys of one lane, by place.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct States<S> {
    start: S,
    at: Vec<S>,
}

impl<S: Clone> States<S> {
    /// No states yet. The state of a key is `start` before its first value.
    #[must_use]
    pub fn new(start: S) -> Self {
        States { start, at: Vec::new() }
    }

    /// Goes on in the place of `start`: a key that is new begins as there.
    pub fn adopt(&mut self, start: &Self) {
        self.start = start.start.clone();
    }

    /// Takes the states of `old`, and leaves its own there. A key that is new begins as here.
    pub fn take_over(&mut self, old: &mut Self) {
        std::mem::swap(&mut self.at, &mut old.at);
    }

    /// The lanes of `old` go on in other lanes, every key's state at its new place.
    ///
    /// # Panics
    ///
    /// If a move is between lanes that are not there.
    pub fn spread(old: &mut [&mut Self], new: &mut [&mut Self], moves: &[KeyMove]) {
        let mut states: Vec<Vec<Option<S>>> =
            old.iter_mut().map(|lane| std::mem::take(&mut lane.at).into_iter().map(Some).collect()).collect();
        let mut spread: Vec<Vec<Option<S>>> = new.iter().map(|_| Vec::new()).collect();
        for KeyMove { from: (lane, place), to: (to_lane, to_place) } in moves {
            let state = states[usize::from(*lane)].get_mut(*place as usize).and_then(Option::take);
            let (lane, place) = (&mut spread[usize::from(*to_lane)], *to_place as usize);
            if lane.len() <= place {
                lane.resize_with(place + 1, || None);
            }
            lane[place] = state;
        }
        for (lane, states) in new.iter_mut().zip(spread) {
            // A key that has had no value here begins.
            let start = &lane.start;
            lane.at = states.into_iter().map(|state| state.unwrap_or_else(|| start.clone())).collect();
        }
    }

    /// Each state of `old` as `migrate` makes it. A key that is new begins as here.
    #[must_use]
    pub fn migrated<T: Clone>(&self, old: &States<T>, migrate: impl FnMut(T) -> S) -> Self {
        States { start: self.start.clone(), at: old.at.iter().cloned().map(migrate).collect() }
    }

    /// The state of the key in this key slot. Call this at every number with a key, even if the stage has no value
    /// there: a key may start at any number.
    #[inline]
    pub fn of(&mut self, key_slot: KeySlot) -> &mut S {
        let place = key_slot.place as usize;
        if key_slot.fresh || self.at.len() <= place {
            self.begin(place);
        }
        &mut self.at[place]
    }
    /// The state at this place begins.
    #[cold]
    fn begin(&mut self, place: usize) {
        if self.at.len() <= place {
            self.at.resize(place + 1, self.start.clone());
        } else {
            self.at[place] = self.start.clone();
        }
    }
}
