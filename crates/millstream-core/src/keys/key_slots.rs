use super::stable_hash::Stable;
use super::{Bound, TooManyKeys};
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// Where the state of one number's key is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeySlot {
    /// Which of the lane's states: they are counted from 0 on, and a place is given to the next key once its own is
    /// forgotten.
    pub place: u32,
    /// Which of the tasklets works on the key.
    pub lane: u16,
    /// Whether the state begins here.
    pub fresh: bool,
}

/// The places of some lanes that no key sits in.
#[derive(Clone, Debug)]
pub struct FreeSlots {
    lanes: Vec<Lane>,
}

#[derive(Clone, Debug, Default)]
struct Lane {
    next: u32,
    free: Vec<u32>,
}

impl FreeSlots {
    /// Places in so many lanes.
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

/// Who sits where: a key's slot from its first value on, until it is forgotten.
#[derive(Clone, Debug)]
pub struct KeySlots<K> {
    bound: Bound,
    /// Each key's index in `chairs`.
    chairs_of: HashMap<K, u32, Stable>,
    chairs: Vec<LruEntry<K>>,
    /// The chairs whose keys had their last values the longest ago and the last, if keys are forgotten.
    oldest: u32,
    newest: u32,
}

/// A key, and its neighbours in the order of last values.
#[derive(Clone, Debug)]
struct LruEntry<K> {
    key: K,
    sits: Address,
    older: u32,
    newer: u32,
}

#[derive(Clone, Copy, Debug)]
struct Address {
    lane: u16,
    place: u32,
}

/// No chair.
const NONE: u32 = u32::MAX;

impl<K: Hash + Eq + Clone> KeySlots<K> {
    /// Nobody sits yet.
    #[must_use]
    pub fn new(bound: Bound) -> Self {
        KeySlots { bound, chairs_of: HashMap::default(), chairs: Vec::new(), oldest: NONE, newest: NONE }
    }

    /// How many keys have a key slot.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chairs.len()
    }

    /// Whether no key has a key slot.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chairs.is_empty()
    }

    /// The key slot of a value's key: one of `lanes` from `first_lane` on, by the key's [hash](super::StableHasher).
    ///
    /// # Errors
    ///
    /// If it is a further key, and the bound refuses it.
    ///
    /// # Panics
    ///
    /// If `places` has not so many lanes.
    #[inline]
    pub fn key_slot(
        &mut self,
        key: K,
        first_lane: u16,
        lanes: usize,
        places: &mut FreeSlots,
    ) -> Result<KeySlot, TooManyKeys> {
        if let Some(chair) = self.chairs_of.get(&key).copied() {
            let Address { lane, place } = self.chairs[chair as usize].sits;
            if self.bound.forgets && chair != self.newest {
                self.unlink(chair);
                self.link(chair);
            }
            return Ok(KeySlot { place, lane, fresh: false });
        }
        self.new_seat(key, first_lane, lanes, places)
    }

    fn new_seat(
        &mut self,
        key: K,
        first_lane: u16,
        lanes: usize,
        places: &mut FreeSlots,
    ) -> Result<KeySlot, TooManyKeys> {
        let full = self.chairs.len() == self.bound.most;
        if full && !self.bound.forgets {
            return Err(self.bound.refusal());
        }
        let within = Stable.hash_one(&key) % lanes as u64;
        let lane = first_lane + u16::try_from(within).expect("there are at most 65536 lanes");
        let chair = if full { self.oldest } else { self.chairs.len() as u32 };
        if full {
            self.unlink(chair);
            let forgotten = &self.chairs[chair as usize];
            self.chairs_of.remove(&forgotten.key);
            places.give_back(forgotten.sits);
        }
        let sits = Address { lane, place: places.take(lane) };
        let taken = LruEntry { key: key.clone(), sits, older: NONE, newer: NONE };
        if full {
            self.chairs[chair as usize] = taken
        } else {
            self.chairs.push(taken)
        }
        self.chairs_of.insert(key, chair);
        if self.bound.forgets {
            self.link(chair);
        }
        Ok(KeySlot { place: sits.place, lane, fresh: true })
    }

    /// Everybody leaves.
    pub fn leave(&mut self, places: &mut FreeSlots) {
        self.chairs_of.clear();
        self.chairs.drain(..).for_each(|chair| places.give_back(chair.sits));
        (self.oldest, self.newest) = (NONE, NONE);
    }

    fn unlink(&mut self, chair: u32) {
        let LruEntry { older, newer, .. } = self.chairs[chair as usize];
        match older {
            NONE => self.oldest = newer,
            older => self.chairs[older as usize].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.chairs[newer as usize].older = older,
        }
    }

    /// Puts a chair behind the newest one.
    fn link(&mut self, chair: u32) {
        let newest = std::mem::replace(&mut self.newest, chair);
        let linked = &mut self.chairs[chair as usize];
        (linked.older, linked.newer) = (newest, NONE);
        match newest {
            NONE => self.oldest = chair,
            newest => self.chairs[newest as usize].newer = chair,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key_slots(bound: Bound, lanes: usize, keys: &[u64]) -> Vec<Result<KeySlot, TooManyKeys>> {
        let (mut key_slots, mut places) = (KeySlots::new(bound), FreeSlots::new(lanes));
        keys.iter().map(|key| key_slots.key_slot(*key, 0, lanes, &mut places)).collect()
    }

    #[test]
    fn a_key_keeps_its_seat_and_lanes_count_their_own_places() {
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
    fn a_further_key_is_refused_or_takes_the_place_that_was_not_used_for_longest() {
        let refused = key_slots(Bound::refuse(2), 1, &[7, 8, 7, 9, 8]);
        let said: Vec<bool> = refused.iter().map(Result::is_ok).collect();
        assert_eq!(said, [true, true, true, false, true]);
        let forgotten = key_slots(Bound::forget(2), 1, &[7, 8, 7, 9, 7, 8]);
        let key_slots: Vec<(u32, bool)> =
            forgotten.into_iter().map(|key_slot| key_slot.map(|s| (s.place, s.fresh)).unwrap()).collect();
        // 9 sits where 8 sat, and 8 then where 9 did.
        assert_eq!(key_slots, [(0, true), (1, true), (0, false), (1, true), (0, false), (1, true)]);
    }

    #[test]
    fn places_of_those_who_leave_are_given_again() {
        let (mut key_slots, mut places) = (KeySlots::new(Bound::default()), FreeSlots::new(1));
        let mut sit = |key_slots: &mut KeySlots<u64>, key| key_slots.key_slot(key, 0, 1, &mut places).unwrap().place;
        assert_eq!([sit(&mut key_slots, 1), sit(&mut key_slots, 2)], [0, 1]);
        key_slots.leave(&mut places);
        assert!(key_slots.is_empty());
        let mut again = [3, 4, 5].map(|key| key_slots.key_slot(key, 0, 1, &mut places).unwrap().place);
        again.sort_unstable();
        assert_eq!((again, key_slots.len()), ([0, 1, 2], 3));
    }
}
