use super::TooManyKeys;
use super::table_hash::Quick;
use super::{FoundKey, Key};
use crate::failure::fail;
use std::collections::HashMap;
use std::fmt;

/// The state of each key of a fold: in a hash table, and in the order of the keys wherever the order shows.
#[derive(Clone)]
pub struct KeyStates<K, S>(HashMap<K, S, Quick>);

impl<K, S> Default for KeyStates<K, S> {
    fn default() -> Self {
        KeyStates(HashMap::default())
    }
}

impl<K: Key, S> KeyStates<K, S> {
    /// Calls `f` with the state of this key, which begins as `start`. If it would be the first of more than `most`
    /// keys, the run fails.
    #[inline]
    pub(crate) fn with(
        &mut self,
        key: impl FoundKey<Key = K>,
        most: usize,
        start: impl FnOnce() -> S,
        f: impl FnOnce(&mut S),
    ) {
        match key.look_up_mut(&mut self.0) {
            Some(state) => f(state),
            None => f(self.begin(key, most, start)),
        }
    }

    // Apart, so that the loop over known keys stays small.
    #[inline(never)]
    fn begin(&mut self, key: impl FoundKey<Key = K>, most: usize, start: impl FnOnce() -> S) -> &mut S {
        // A version before may have allowed more.
        if self.0.len() >= most {
            fail(TooManyKeys::kept_until_end(most));
        }
        self.0.entry(key.into_key()).or_insert_with(start)
    }

    /// The same keys with the states that `f` makes of theirs, in no order: for a migration of a fold by key whose
    /// states have another type in the new version.
    #[must_use]
    pub fn map_states<T>(self, mut f: impl FnMut(S) -> T) -> KeyStates<K, T> {
        KeyStates(self.0.into_iter().map(|(key, state)| (key, f(state))).collect())
    }
}

impl<K, S> KeyStates<K, S> {
    /// The size of the keys and states in memory, without what they own.
    pub(crate) fn bytes(&self) -> usize {
        self.0.len() * size_of::<(K, S)>()
    }
}

impl<K: Ord, S> KeyStates<K, S> {
    /// All keys and their states, in the order of the keys.
    pub(crate) fn into_sorted(self) -> Vec<(K, S)> {
        let mut states: Vec<(K, S)> = self.0.into_iter().collect();
        states.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        states
    }

    fn sorted(&self) -> Vec<(&K, &S)> {
        let mut states: Vec<(&K, &S)> = self.0.iter().collect();
        states.sort_unstable_by_key(|(key, _)| *key);
        states
    }
}

impl<K: Ord + fmt::Debug, S: fmt::Debug> fmt::Debug for KeyStates<K, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.sorted()).finish()
    }
}

/// As a map in the order of the keys: equal states have equal bytes.
#[cfg(feature = "serde")]
impl<K: Ord + serde::Serialize, S: serde::Serialize> serde::Serialize for KeyStates<K, S> {
    fn serialize<W: serde::Serializer>(&self, to: W) -> Result<W::Ok, W::Error> {
        to.collect_map(self.sorted())
    }
}

#[cfg(feature = "serde")]
impl<'de, K: Key + serde::Deserialize<'de>, S: serde::Deserialize<'de>> serde::Deserialize<'de> for KeyStates<K, S> {
    fn deserialize<R: serde::Deserializer<'de>>(from: R) -> Result<Self, R::Error> {
        HashMap::deserialize(from).map(KeyStates)
    }
}

#[cfg(test)]
mod tests {
    use super::KeyStates;

    #[test]
    fn the_order_that_shows_is_that_of_the_keys() {
        let mut states = KeyStates::default();
        for key in [5, 3, 9, 3, 1, 5, 3] {
            states.with(&key, 4, || 10, |state| *state += 1);
        }
        assert_eq!(format!("{states:?}"), "{1: 11, 3: 13, 5: 12, 9: 11}");
        assert_eq!(states.bytes(), 4 * size_of::<(i32, i32)>());
        assert_eq!(states.into_sorted(), [(1, 11), (3, 13), (5, 12), (9, 11)]);
    }

    #[cfg(feature = "serde")]
    #[test]
    fn it_is_written_as_a_map_in_order() {
        let mut states = KeyStates::<String, u32>::default();
        for key in ["pear", "apple", "fig", "apple"] {
            states.with(key, 9, || 0, |state| *state += 1);
        }
        let written = serde_json::to_string(&states).unwrap();
        assert_eq!(written, r#"{"apple":2,"fig":1,"pear":1}"#);
        let read: KeyStates<String, u32> = serde_json::from_str(&written).unwrap();
        assert_eq!(read.into_sorted(), states.into_sorted());
    }
}
