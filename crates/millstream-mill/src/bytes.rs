//! Bytes that stages keep: keys, values and rows, which are JSON, or lines of any bytes.

use millstream_core::keys::FoundKey;
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher;
use std::ops::Deref;

/// Bytes that are written down as such, and for people as a text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Bytes(Box<[u8]>);

impl Deref for Bytes {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// A key is found by what it borrows: both have one hash and one order.
impl Borrow<[u8]> for Bytes {
    #[inline]
    fn borrow(&self) -> &[u8] {
        &self.0
    }
}

/// A key that is found in a row.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a>(pub(crate) &'a [u8]);

impl FoundKey for Found<'_> {
    type Key = Bytes;

    #[inline]
    fn look_up<'t, V, H: BuildHasher>(&self, table: &'t HashMap<Bytes, V, H>) -> Option<&'t V> {
        table.get(self.0)
    }

    #[inline]
    fn look_up_mut<'t, V, H: BuildHasher>(&self, table: &'t mut HashMap<Bytes, V, H>) -> Option<&'t mut V> {
        table.get_mut(self.0)
    }

    fn into_key(self) -> Bytes {
        self.0.into()
    }
}

impl From<&[u8]> for Bytes {
    fn from(bytes: &[u8]) -> Self {
        Bytes(bytes.into())
    }
}

impl From<Vec<u8>> for Bytes {
    fn from(bytes: Vec<u8>) -> Self {
        Bytes(bytes.into())
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        String::from_utf8_lossy(&self.0).fmt(f)
    }
}

impl Serialize for Bytes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if to.is_human_readable() {
            return to.serialize_str(&String::from_utf8_lossy(&self.0));
        }
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Bytes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(bytes.into())
            }
        }
        from.deserialize_bytes(Read)
    }
}

/// For fields: whole numbers that are longer than those of JSON are texts for people.
pub(crate) mod long {
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;

    pub(crate) fn serialize<S: Serializer>(number: &i128, to: S) -> Result<S::Ok, S::Error> {
        match i64::try_from(*number) {
            Err(_) if to.is_human_readable() => to.collect_str(number),
            Ok(number) if to.is_human_readable() => to.serialize_i64(number),
            _ => to.serialize_i128(*number),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i128, D::Error> {
        i128::deserialize(from)
    }
}

/// For fields: sets, which are in order for people.
pub(crate) mod set {
    use super::Bytes;
    use serde::de::{Deserialize, Deserializer};
    use serde::ser::Serializer;
    use std::collections::HashSet;

    pub(crate) fn serialize<S: Serializer>(set: &HashSet<Bytes>, to: S) -> Result<S::Ok, S::Error> {
        if !to.is_human_readable() {
            return to.collect_seq(set);
        }
        let mut all: Vec<&Bytes> = set.iter().collect();
        all.sort();
        to.collect_seq(all)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<HashSet<Bytes>, D::Error> {
        HashSet::deserialize(from)
    }
}
