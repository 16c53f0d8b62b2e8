//! Key slots written down. The map from keys to entries is not written, since it follows from the entries: so equal
//! histories have equal bytes. It is made when all entries are there ([`KeySlots::find_keys`]).

use super::key_slots::{KeySlots, LruEntry, NONE};
use super::{Bound, PlaceTable};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::HashMap;
use std::hash::Hash;

#[derive(Serialize)]
struct Borrowed<'s, K> {
    bound: Bound,
    entries: &'s PlaceTable<LruEntry<K>>,
    oldest: u32,
    newest: u32,
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de> + Clone"))]
struct Owned<K> {
    bound: Bound,
    entries: PlaceTable<LruEntry<K>>,
    oldest: u32,
    newest: u32,
}

impl<K: Serialize> Serialize for KeySlots<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let KeySlots { bound, entries, oldest, newest, .. } = self;
        Borrowed { bound: *bound, entries, oldest: *oldest, newest: *newest }.serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de> + Hash + Eq + Clone> Deserialize<'de> for KeySlots<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Owned { bound, entries, oldest, newest } = Owned::<K>::deserialize(deserializer)?;
        let links = entries.iter().flat_map(|entry| [entry.older, entry.newer]).chain([oldest, newest]);
        if let Some(link) = links.into_iter().find(|link| *link != NONE && *link as usize >= entries.len()) {
            return Err(D::Error::custom(format!("key {link} of {}", entries.len())));
        }
        Ok(KeySlots { bound, known: HashMap::default(), entries, oldest, newest })
    }
}

/// As it is written: at least one key, and at most as many as places can be counted.
impl<'de> Deserialize<'de> for Bound {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "Bound")]
        struct Read {
            most: usize,
            forgets: bool,
        }
        let Read { most, forgets } = Read::deserialize(deserializer)?;
        match u32::try_from(most) {
            Ok(1..) => Ok(Bound { most, forgets, bytes: None }),
            _ => Err(D::Error::custom(format!("a bound of {most} keys"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::keys::{Bound, FreeSlots, KeySlots};

    /// Written down and read again at every number, the key slots are those of a run that goes on.
    #[test]
    fn key_slots_go_on_where_they_were_written() {
        for bound in [Bound::forget(3), Bound::refuse(50)] {
            let mut places = [FreeSlots::new(4), FreeSlots::new(4)];
            let (mut stays, mut read) = (KeySlots::new(bound), KeySlots::<u64>::new(bound));
            for n in 0..200_u64 {
                let key = n * n % 37 % 11;
                let [one, two] = &mut places;
                assert_eq!(stays.key_slot(&key, 0, 4, one), read.key_slot(&key, 0, 4, two), "{n}");
                let bytes = serde_json::to_vec(&read).unwrap();
                assert_eq!(bytes, serde_json::to_vec(&stays).unwrap());
                read = serde_json::from_slice(&bytes).unwrap();
                read.find_keys();
                *two = serde_json::from_slice(&serde_json::to_vec(two).unwrap()).unwrap();
            }
        }
    }

    #[test]
    fn links_to_keys_that_are_not_there_are_refused() {
        let (mut slots, mut places) = (KeySlots::new(Bound::forget(3)), FreeSlots::new(1));
        slots.key_slot(&7_u64, 0, 1, &mut places).unwrap();
        let text = serde_json::to_string(&slots).unwrap();
        let broken = text.replace("\"oldest\":0", "\"oldest\":1");
        assert_ne!(text, broken);
        assert!(serde_json::from_str::<KeySlots<u64>>(&broken).unwrap_err().to_string().starts_with("key 1 of 1"));
        let none = text.replace("\"most\":3", "\"most\":0");
        let refused = serde_json::from_str::<KeySlots<u64>>(&none).unwrap_err().to_string();
        assert!(refused.starts_with("a bound of 0 keys"), "{refused}");
    }
}
