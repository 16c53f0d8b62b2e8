use super::FoundKey;
use super::stable_hash::Stable;
use super::table_hash::Quick;
use super::{Bound, PlaceTable, TooManyKeys};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// The place of the state of one number's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySlot {
    /// The index of the state in its lane, counted from 0. The index of a forgotten key is used again.
    pub place: u32,
    /// The tasklet that works on the key.
    pub lane: u16,
    /// Whether the state starts here.
    pub fresh: bool,
}

/// Where the state of a key was, and where it is with another number of lanes, of its own or of the keys around it:
/// lanes and places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the sentence above says it")]
pub struct KeyMove {
    pub from: (u16, u32),
    pub to: (u16, u32),
}

/// The free places of some lanes.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FreeSlots {
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Lane {
    next: u32,
    free: Vec<u32>,
}

impl FreeSlots {
    /// Free places in `lanes` lanes.
    ///
    /// # Panics
    ///
    /// If there are more than 65,536 lanes.
    #[must_use]
    pub fn new(lanes: usize) -> Self {
        assert!(lanes <= 1 << 16, "keys are spread over at most 65536 tasklets");
        FreeSlots { lanes: vec![Lane::default(); lanes] }
    }

    fn take(&mut self, lane: u16) -> u32 {
        let Lane { next, free } = &mut self.lanes[usize::from(lane)];
        free.pop().unwrap_or_else(|| {
            *next += 1;
            *next - 1
        })
    }

    fn give_back(&mut self, Address { lane, place, .. }: Address) {
        self.lanes[usize::from(lane)].free.push(place);
    }
}

/// The key slot of every key, from the key's first value on until it is forgotten.
#[derive(Clone, Debug)]
pub struct KeySlots<K> {
    pub(crate) bound: Bound,
    /// Every key that has an entry, unless this is a copy: it follows from the entries.
    pub(super) known: HashMap<K, Known, Quick>,
    pub(crate) entries: PlaceTable<LruEntry<K>>,
    /// The entries that were used the longest ago and the last, if keys are forgotten.
    pub(crate) oldest: u32,
    pub(crate) newest: u32,
}

/// What is known of a key: its index in the entries, and its address, which is there as well, so that a look at a key
/// reads one table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known {
    entry: u32,
    address: Address,
}

/// A key, and its neighbours in the order of last values.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LruEntry<K> {
    pub(super) key: K,
    address: Address,
    pub(super) older: u32,
    pub(super) newer: u32,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Address {
    lane: u16,
    place: u32,
}

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

/// The lane of a key, of `lanes` lanes from `first_lane` on.
fn lane_of<K: Hash>(key: &K, first_lane: u16, lanes: usize) -> u16 {
    let within = Stable.hash_one(key) % lanes as u64;
    first_lane + u16::try_from(within).expect("there are at most 65536 lanes")
}

impl<K: Hash + Eq + Clone> KeySlots<K> {
    /// No key has a key slot yet.
    #[must_use]
    pub fn new(bound: Bound) -> Self {
        KeySlots { bound, known: HashMap::default(), entries: PlaceTable::new(), oldest: NONE, newest: NONE }
    }

    /// Sets another bound.
    ///
    /// # Errors
    ///
    /// If one of the two forgets keys and the other does not, or if there are more keys already.
    pub fn set_bound(&mut self, bound: Bound) -> Result<(), String> {
        self.check_bound(bound)?;
        self.bound = bound;
        Ok(())
    }

    /// Whether these keys can have another bound.
    ///
    /// # Errors
    ///
    /// As of [`set_bound`](KeySlots::set_bound).
    pub fn check_bound(&self, bound: Bound) -> Result<(), String> {
        if bound.forgets != self.bound.forgets {
            return Err("forgets keys in one of the two pipelines, and refuses them in the other".to_owned());
        }
        if self.entries.len() > bound.most {
            return Err(format!("has room for {} keys, and there are {} already", bound.most, self.entries.len()));
        }
        Ok(())
    }

    /// The number of keys with a key slot.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key has a key slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The key slot of a value's key, in one of `lanes` lanes from `first_lane` on: that of the key which is forgotten
    /// for it, or else by the key's [hash](super::StableHasher).
    ///
    /// # Errors
    ///
    /// If there is no room for a new key, and the bound refuses it.
    ///
    /// # Panics
    ///
    /// If `places` has fewer lanes.
    #[inline]
    pub fn key_slot(
        &mut self,
        key: impl FoundKey<Key = K>,
        first_lane: u16,
        lanes: usize,
        places: &mut FreeSlots,
    ) -> Result<KeySlot, TooManyKeys> {
        self.known(&key).map_or_else(|| self.new_slot(key, first_lane, lanes, places), Ok)
    }

    /// The key slot of a value's key, if the key has one.
    #[inline]
    pub(crate) fn known(&mut self, key: &impl FoundKey<Key = K>) -> Option<KeySlot> {
        let (entry, key_slot) = self.entry_and_slot(key)?;
        if self.bound.forgets && entry != self.newest {
            self.unlink(entry);
            self.link(entry);
        }
        Some(key_slot)
    }

    /// The same, of a set that forgets no keys.
    #[inline]
    pub(crate) fn find(&self, key: &impl FoundKey<Key = K>) -> Option<KeySlot> {
        self.entry_and_slot(key).map(|(_, key_slot)| key_slot)
    }

    #[inline]
    fn entry_and_slot(&self, key: &impl FoundKey<Key = K>) -> Option<(u32, KeySlot)> {
        let Known { entry, address: Address { lane, place } } = *key.look_up(&self.known)?;
        Some((entry, KeySlot { place, lane, fresh: false }))
    }

    fn new_slot(
        &mut self,
        key: impl FoundKey<Key = K>,
        first_lane: u16,
        lanes: usize,
        places: &mut FreeSlots,
    ) -> Result<KeySlot, TooManyKeys> {
        let full = self.entries.len() == self.bound.most;
        if full && !self.bound.forgets {
            return Err(self.bound.refusal());
        }
        let key = key.into_key();
        let (entry, address) = if full {
            let entry = self.oldest;
            self.unlink(entry);
            let forgotten = self.entries.get(entry as usize).expect("it is the oldest");
            self.known.remove(&forgotten.key);
            // The new key takes the very place. In the lane of its hash it would get another one, and the forgotten
            // state would stay: up to as many in each lane as keys are allowed.
            (entry, forgotten.address)
        } else {
            let lane = lane_of(&key, first_lane, lanes);
            (self.entries.len() as u32, Address { lane, place: places.take(lane) })
        };
        let taken = LruEntry { key: key.clone(), address, older: NONE, newer: NONE };
        if full {
            *self.entry(entry) = taken;
        } else {
            self.entries.push(taken);
        }
        self.known.insert(key, Known { entry, address });
        if self.bound.forgets {
            self.link(entry);
        }
        Ok(KeySlot { place: address.place, lane: address.lane, fresh: true })
    }

    /// Gives every key its lane among `lanes` lanes from `first_lane` on, and a place there. Adds where each was and
    /// is.
    pub(crate) fn spread(&mut self, first_lane: u16, lanes: usize, places: &mut FreeSlots, moves: &mut Vec<KeyMove>) {
        let first = moves.len();
        for index in 0..self.entries.len() {
            let entry = self.entries.get_mut(index).expect("it is one of them");
            let lane = lane_of(&entry.key, first_lane, lanes);
            let (from, to) = (entry.address, Address { lane, place: places.take(lane) });
            entry.address = to;
            moves.push(KeyMove { from: (from.lane, from.place), to: (to.lane, to.place) });
        }
        // The map is read in the order of its memory. To find each key in it would wait for memory each time.
        for known in self.known.values_mut() {
            let (lane, place) = moves[first + known.entry as usize].to;
            known.address = Address { lane, place };
        }
    }

    /// Removes every key, and frees its place.
    pub fn clear(&mut self, places: &mut FreeSlots) {
        self.known.clear();
        self.entries.iter().for_each(|entry| places.give_back(entry.address));
        self.entries.clear();
        (self.oldest, self.newest) = (NONE, NONE);
    }

    /// The most bytes of a key: its entry, and its place in a map that has just grown, in which fewer than half of the
    /// places are in use.
    pub(crate) const BYTES_OF_KEY: usize =
        PlaceTable::<LruEntry<K>>::BYTES_EACH + (2 * (size_of::<(K, Known)>() + 1) * 8).div_ceil(7);

    /// The bytes of the entries and of the map, without memory that keys own elsewhere.
    pub(crate) fn bytes(&self) -> usize {
        self.entries.bytes() + self.known.capacity() * (size_of::<(K, Known)>() + 1)
    }

    /// A copy that shares the entries, without the map from keys to entries: it follows from them.
    pub(crate) fn share(&mut self) -> Self {
        let KeySlots { bound, entries, oldest, newest, .. } = self;
        let (known, entries) = (HashMap::default(), entries.share());
        KeySlots { bound: *bound, known, entries, oldest: *oldest, newest: *newest }
    }

    /// Makes the map from keys to entries, if it is not there.
    pub(crate) fn find_keys(&mut self) {
        if self.known.len() != self.entries.len() {
            let known = |(of, entry): (&LruEntry<K>, u32)| (of.key.clone(), Known { entry, address: of.address });
            self.known = self.entries.iter().zip(0..).map(known).collect();
        }
    }

    fn entry(&mut self, entry: u32) -> &mut LruEntry<K> {
        self.entries.get_mut(entry as usize).expect("entries are linked to entries")
    }

    fn unlink(&mut self, entry: u32) {
        let LruEntry { older, newer, .. } = *self.entry(entry);
        match older {
            NONE => self.oldest = newer,
            older => self.entry(older).newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.entry(newer).older = older,
        }
    }

    /// Puts an entry after the newest one.
    fn link(&mut self, entry: u32) {
        let newest = std::mem::replace(&mut self.newest, entry);
        let linked = self.entry(entry);
        (linked.older, linked.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = entry,
            newest => self.entry(newest).newer = entry,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_slots(bound: Bound, lanes: usize, keys: &[u64]) -> Vec<Result<KeySlot, TooManyKeys>> {
        let (mut key_slots, mut places) = (KeySlots::new(bound), FreeSlots::new(lanes));
        keys.iter().map(|key| key_slots.key_slot(key, 0, lanes, &mut places)).collect()
    }

    #[test]
    fn a_key_keeps_its_slot_and_lanes_count_their_own_places() {
        let keys: Vec<u64> = (0..64).chain(0..64).collect();
        let key_slots: Vec<KeySlot> = key_slots(Bound::default(), 4, &keys).into_iter().map(Result::unwrap).collect();
        for (first, again) in key_slots[..64].iter().zip(&key_slots[64..]) {
            assert_eq!((KeySlot { fresh: false, ..*first }, first.fresh), (*again, true));
        }
        for lane in 0..4 {
            let places: Vec<u32> = key_slots[..64]
                .iter()
                .filter(|key_slot| key_slot.lane == lane)
                .map(|key_slot| key_slot.place)
                .collect();
            assert!(places.len() > 4, "64 keys spread over 4 lanes");
            assert!(places.iter().copied().eq(0..places.len() as u32));
        }
    }

    #[test]
    fn a_further_key_is_refused_or_takes_the_place_of_the_least_recent_one() {
        let refused = key_slots(Bound::refuse(2), 1, &[7, 8, 7, 9, 8]);
        let accepted: Vec<bool> = refused.iter().map(Result::is_ok).collect();
        assert_eq!(accepted, [true, true, true, false, true]);
        let forgotten = key_slots(Bound::forget(2), 1, &[7, 8, 7, 9, 7, 8]);
        let key_slots: Vec<(u32, bool)> =
            forgotten.into_iter().map(|key_slot| key_slot.map(|s| (s.place, s.fresh)).unwrap()).collect();
        // 9 takes the place of 8, and then 8 that of 9.
        assert_eq!(key_slots, [(0, true), (1, true), (0, false), (1, true), (0, false), (1, true)]);
    }

    #[test]
    fn forgotten_keys_leave_no_place_behind() {
        let all: Vec<u64> = (0..300).collect();
        let given: Vec<KeySlot> = key_slots(Bound::forget(8), 4, &all).into_iter().map(Result::unwrap).collect();
        assert!(given.iter().all(|key_slot| key_slot.fresh));
        // Each has the place of the one that is forgotten for it.
        let places = |key_slots: &[KeySlot]| key_slots.iter().map(|of| (of.lane, of.place)).collect::<Vec<_>>();
        assert_eq!(places(&given[8..]), places(&given[..292]));
        let mut different = places(&given[..8]);
        different.sort_unstable();
        different.dedup();
        assert_eq!(different.len(), 8);
    }

    #[test]
    fn places_of_removed_keys_are_used_again() {
        let (mut key_slots, mut places) = (KeySlots::new(Bound::default()), FreeSlots::new(1));
        let mut place_of =
            |key_slots: &mut KeySlots<u64>, key| key_slots.key_slot(&key, 0, 1, &mut places).unwrap().place;
        assert_eq!([place_of(&mut key_slots, 1), place_of(&mut key_slots, 2)], [0, 1]);
        key_slots.clear(&mut places);
        assert!(key_slots.is_empty());
        let mut again = [3, 4, 5].map(|key| key_slots.key_slot(&key, 0, 1, &mut places).unwrap().place);
        again.sort_unstable();
        assert_eq!((again, key_slots.len()), ([0, 1, 2], 3));
    }
}
