//! The router, which assigns key slots to numbers.

use super::{KeyRouter, Sets};
use crate::failure::fail;
use crate::keys::{Bound, FreeSlots, KeyMove, KeySlot, KeySlots, LruEntry, PlaceTable, SharedState};
use crate::keys::{FoundKey, Key};
use std::hash::Hash;

impl<K: Key> KeyRouter<K> {
    /// Routes to `lanes` lanes; inside another `shard_by`, to `lanes` lanes for each of its `outer` lanes.
    #[must_use]
    pub fn new(bound: Bound, lanes: usize, outer: Option<usize>) -> Self {
        let places = FreeSlots::new(lanes * outer.unwrap_or(1));
        let key_slots = match outer {
            None => Sets::One(KeySlots::new(bound)),
            Some(outer) => Sets::Each(std::iter::repeat_with(PlaceTable::new).take(outer).collect()),
        };
        KeyRouter { bound, lanes, places, keys: 0, key_slots }
    }

    /// The key slot of a number: none if the number's slot is empty. `outer` is the number's key slot in the
    /// `shard_by` around this one.
    ///
    /// Unwinds if there are too many keys.
    #[inline]
    pub fn key_slot(&mut self, outer: Option<KeySlot>, key: Option<impl FoundKey<Key = K>>) -> Option<KeySlot> {
        // The usual case, without the registers that the others need.
        if let (Some(key), Sets::One(key_slots), false) = (&key, &self.key_slots, self.bound.forgets())
            && let known @ Some(_) = key_slots.find(key)
        {
            return known;
        }
        self.other_slot(outer, key)
    }

    /// The key slot of a number that is none of a key which is known and never forgotten, and is in no other key.
    #[inline(never)]
    fn other_slot(&mut self, outer: Option<KeySlot>, key: Option<impl FoundKey<Key = K>>) -> Option<KeySlot> {
        let known = match (&key, &mut self.key_slots, outer) {
            (None, ..) | (_, Sets::Each(_), None | Some(KeySlot { fresh: true, .. })) => None,
            (Some(key), Sets::One(key_slots), _) => key_slots.known(key),
            (Some(key), Sets::Each(sets), Some(outer)) => known_in(self.bound, sets, outer, key),
        };
        known.or_else(|| self.new_slot(outer, key))
    }

    /// The key slot of a number whose key is new, or that has none, or whose outer key is new.
    #[cold]
    fn new_slot(&mut self, outer: Option<KeySlot>, key: Option<impl FoundKey<Key = K>>) -> Option<KeySlot> {
        let KeySlot { lane, place, fresh } = outer.unwrap_or(KeySlot { lane: 0, place: 0, fresh: false });
        let key_slots = match &mut self.key_slots {
            Sets::One(key_slots) => key_slots,
            Sets::Each(sets) => set_at(&mut sets[usize::from(lane)], place, self.bound),
        };
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
        self.key_slots.nest_as(&start.key_slots, self.bound);
        let (lanes, outer) = (self.lanes, self.key_slots.outer());
        if (lanes, outer) != (start.lanes, start.key_slots.outer()) {
            let [old, new] = [lanes * outer, start.lanes * start.key_slots.outer()];
            return Err(format!("has {new} lanes of keys, and the snapshot has {old}"));
        }
        self.bound = start.bound;
        self.key_slots.try_for_each(|key_slots| {
            key_slots.find_keys();
            key_slots.set_bound(start.bound)
        })
    }

    /// Whether this can [take over](KeyRouter::take_over) the keys of `old`.
    ///
    /// # Errors
    ///
    /// Why it cannot: a bound with which the keys do not agree.
    pub fn fits(&self, old: &Self) -> Result<(), String> {
        old.key_slots.iter().try_for_each(|keys| keys.check_bound(self.bound))
    }

    /// Takes the keys of `old`, which it [fits](KeyRouter::fits), and keeps its bound and its lanes. Inside another
    /// `shard_by` whose keys have moved, `around` says where each of those was and is. If the keys of this one have
    /// moved, by their own number of lanes or with those around them, returns where the state of each was and is.
    pub fn take_over(&mut self, old: &mut Self, around: Option<&[KeyMove]>) -> Option<Vec<KeyMove>> {
        old.key_slots.nest_as(&self.key_slots, old.bound);
        let (outer, bound) = (self.key_slots.outer(), self.bound);
        let stay = self.lanes == old.lanes && around.is_none();
        std::mem::swap(&mut self.key_slots, &mut old.key_slots);
        std::mem::swap(&mut self.keys, &mut old.keys);
        if let Some(around) = around {
            self.key_slots.follow(around, outer, bound);
        }
        self.key_slots.for_each(|keys| {
            keys.find_keys();
            keys.bound = bound;
        });
        if stay {
            std::mem::swap(&mut self.places, &mut old.places);
            return None;
        }
        let moves = self.key_slots.spread(self.lanes, outer, &mut self.places);
        self.keys = moves.len();
        Some(moves)
    }

    /// The number of keys with a key slot.
    #[must_use]
    pub fn keys(&self) -> usize {
        self.keys
    }
}

/// The key slot of a key that has one inside an outer key.
fn known_in<K: Hash + Eq + Clone>(
    bound: Bound,
    sets: &mut [PlaceTable<KeySlots<K>>],
    outer: KeySlot,
    key: &impl FoundKey<Key = K>,
) -> Option<KeySlot> {
    let (sets, place) = (&mut sets[usize::from(outer.lane)], outer.place as usize);
    // A look changes nothing where no key is forgotten.
    if bound.forgets() { sets.get_mut(place)?.known(key) } else { sets.get(place)?.find(key) }
}

/// The set of the outer key at this place, which is made if it is not there.
fn set_at<K: Hash + Eq + Clone>(sets: &mut PlaceTable<KeySlots<K>>, place: u32, bound: Bound) -> &mut KeySlots<K> {
    while sets.len() <= place as usize {
        sets.push(KeySlots::new(bound));
    }
    sets.get_mut(place as usize).expect("it was made")
}

impl<K: Hash + Eq + Clone> Sets<K> {
    /// The number of lanes of the outer `shard_by`; 1 if there is none.
    fn outer(&self) -> usize {
        match self {
            Sets::One(_) => 1,
            Sets::Each(sets) => sets.len(),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &KeySlots<K>> {
        let (one, each) = match self {
            Sets::One(key_slots) => (Some(key_slots), [].as_slice()),
            Sets::Each(sets) => (None, sets.as_slice()),
        };
        one.into_iter().chain(each.iter().flat_map(PlaceTable::iter))
    }

    fn for_each(&mut self, mut f: impl FnMut(&mut KeySlots<K>)) {
        let done = self.try_for_each(|key_slots| {
            f(key_slots);
            Ok(())
        });
        done.expect("nothing fails");
    }

    fn try_for_each(&mut self, mut f: impl FnMut(&mut KeySlots<K>) -> Result<(), String>) -> Result<(), String> {
        match self {
            Sets::One(key_slots) => f(key_slots),
            Sets::Each(sets) => sets.iter_mut().try_for_each(|sets| {
                (0..sets.len()).try_for_each(|place| f(sets.get_mut(place).expect("it is one of them")))
            }),
        }
    }

    /// Each set goes to the new lane, of `outer` lanes, and the new place of its outer key. A set whose outer key was
    /// forgotten is dropped.
    fn follow(&mut self, around: &[KeyMove], outer: usize, bound: Bound) {
        let Sets::Each(sets) = self else { return };
        let mut old: Vec<_> = sets.drain(..).map(PlaceTable::into_taken).collect();
        sets.resize_with(outer, PlaceTable::new);
        for KeyMove { from: (lane, place), to: (to_lane, to_place) } in around {
            // An outer key that has had no value here has no set.
            if let Some(set) = old[usize::from(*lane)].take(*place as usize) {
                *set_at(&mut sets[usize::from(*to_lane)], *to_place, bound) = set;
            }
        }
    }

    /// Gives every key its lane among `lanes` lanes in each of `outer` lanes, and a place there. Returns where each was
    /// and is.
    fn spread(&mut self, lanes: usize, outer: usize, places: &mut FreeSlots) -> Vec<KeyMove> {
        *places = FreeSlots::new(lanes * outer);
        let mut moves = Vec::with_capacity(self.iter().map(KeySlots::len).sum());
        match self {
            Sets::One(key_slots) => key_slots.spread(0, lanes, places, &mut moves),
            Sets::Each(sets) => {
                for (sets, first_lane) in sets.iter_mut().zip((0..).step_by(lanes)) {
                    for place in 0..sets.len() {
                        let set = sets.get_mut(place).expect("it is one of them");
                        set.spread(first_lane as u16, lanes, places, &mut moves);
                    }
                }
            }
        }
        moves
    }

    /// Written down, one lane with one set is the same inside another `shard_by` and alone.
    fn nest_as(&mut self, start: &Self, bound: Bound) {
        match (&mut *self, start) {
            (Sets::One(key_slots), Sets::Each(_)) => {
                let mut sets = PlaceTable::new();
                if !key_slots.is_empty() {
                    sets.push(std::mem::replace(key_slots, KeySlots::new(bound)));
                }
                *self = Sets::Each(vec![sets]);
            }
            (Sets::Each(sets), Sets::One(_)) if sets.len() == 1 && sets[0].len() <= 1 => {
                let one = sets[0].get(0).cloned();
                *self = Sets::One(one.unwrap_or_else(|| KeySlots::new(bound)));
            }
            _ => {}
        }
    }
}

/// Its table is that of the keys' entries. Inside another `shard_by` there are many, and it is written whole.
impl<K: Key> SharedState for KeyRouter<K> {
    type Value = LruEntry<K>;
    type Plain = (usize, FreeSlots, usize, u32, u32);

    fn share(&mut self) -> Self {
        let key_slots = match &mut self.key_slots {
            Sets::One(key_slots) => Sets::One(key_slots.share()),
            Sets::Each(sets) => Sets::Each(sets.iter_mut().map(PlaceTable::share).collect()),
        };
        KeyRouter { bound: self.bound, lanes: self.lanes, places: self.places.clone(), keys: self.keys, key_slots }
    }

    fn tables(&self) -> Vec<&PlaceTable<LruEntry<K>>> {
        match &self.key_slots {
            Sets::One(key_slots) => vec![&key_slots.entries],
            Sets::Each(_) => Vec::new(),
        }
    }

    fn tables_mut(&mut self) -> Vec<&mut PlaceTable<LruEntry<K>>> {
        match &mut self.key_slots {
            Sets::One(key_slots) => vec![&mut key_slots.entries],
            Sets::Each(_) => Vec::new(),
        }
    }

    fn plain(&self) -> Self::Plain {
        let (oldest, newest) = match &self.key_slots {
            Sets::One(KeySlots { oldest, newest, .. }) => (*oldest, *newest),
            Sets::Each(_) => Default::default(),
        };
        (self.lanes, self.places.clone(), self.keys, oldest, newest)
    }

    fn set_plain(&mut self, (lanes, places, keys, oldest, newest): Self::Plain) -> Result<(), String> {
        let Sets::One(key_slots) = &mut self.key_slots else { return Err("keys inside other keys".to_owned()) };
        if lanes != self.lanes {
            return Err(format!("{lanes} lanes of keys instead of {}", self.lanes));
        }
        (key_slots.oldest, key_slots.newest) = (oldest, newest);
        (self.places, self.keys) = (places, keys);
        Ok(())
    }

    fn bytes(&self) -> usize {
        match &self.key_slots {
            Sets::One(key_slots) => key_slots.bytes(),
            // Their keys are not counted one by one.
            Sets::Each(sets) => {
                let each = KeySlots::<K>::BYTES_OF_KEY;
                sets.iter().map(PlaceTable::bytes).sum::<usize>() + self.keys * each
            }
        }
    }
}

#[cfg(feature = "serde")]
mod written {
    use crate::keys::{Bound, FreeSlots, KeySlots, PlaceTable};
    use crate::pipe::shard_by::{KeyRouter, Sets};
    use serde::ser::SerializeSeq;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::hash::Hash;

    #[derive(Serialize)]
    #[serde(rename = "KeyRouter", bound(serialize = "K: Serialize"))]
    struct Borrowed<'r, K> {
        bound: Bound,
        lanes: usize,
        places: &'r FreeSlots,
        keys: usize,
        key_slots: Lists<'r, K>,
    }

    /// By lane and place.
    struct Lists<'r, K>(&'r Sets<K>);

    impl<K: Serialize> Serialize for Lists<'_, K> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            match self.0 {
                Sets::One(key_slots) => {
                    let mut lanes = to.serialize_seq(Some(1))?;
                    lanes.serialize_element(std::slice::from_ref(key_slots))?;
                    lanes.end()
                }
                Sets::Each(sets) => to.collect_seq(sets),
            }
        }
    }

    impl<K: Serialize> Serialize for KeyRouter<K> {
        fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
            let KeyRouter { bound, lanes, places, keys, key_slots } = self;
            let key_slots = Lists(key_slots);
            Borrowed { bound: *bound, lanes: *lanes, places, keys: *keys, key_slots }.serialize(to)
        }
    }

    #[derive(Deserialize)]
    #[serde(rename = "KeyRouter", bound(deserialize = "K: Deserialize<'de> + Hash + Eq + Clone"))]
    struct Owned<K> {
        bound: Bound,
        lanes: usize,
        places: FreeSlots,
        keys: usize,
        key_slots: Vec<Vec<KeySlots<K>>>,
    }

    impl<'de, K: Deserialize<'de> + Hash + Eq + Clone> Deserialize<'de> for KeyRouter<K> {
        fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
            let Owned { bound, lanes, places, keys, mut key_slots } = Owned::deserialize(from)?;
            let alone = key_slots.len() == 1 && key_slots[0].len() <= 1;
            let key_slots = if alone {
                Sets::One(key_slots[0].pop().unwrap_or_else(|| KeySlots::new(bound)))
            } else {
                Sets::Each(key_slots.into_iter().map(table).collect())
            };
            Ok(KeyRouter { bound, lanes, places, keys, key_slots })
        }
    }

    fn table<K: Hash + Eq + Clone>(sets: Vec<KeySlots<K>>) -> PlaceTable<KeySlots<K>> {
        let mut table = PlaceTable::new();
        table.extend(sets);
        table
    }
}
