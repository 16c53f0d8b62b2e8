//! The states of stages, as a plan shows them.

use crate::keys::{KeySlots, PlaceTable};
use std::any::type_name;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::str::FromStr;

/// The type of a stage's state, as the stage describes it.
#[derive(Clone, Copy, Debug)]
pub struct StateType {
    name: &'static str,
    bytes: usize,
    align: usize,
    /// The bytes of one key's in a table.
    of_key: usize,
}

impl StateType {
    /// Describes `S`.
    #[must_use]
    pub fn of<S>() -> Self {
        let (bytes, of_key) = (size_of::<S>(), PlaceTable::<S>::BYTES_EACH);
        StateType { name: type_name::<S>(), bytes, align: align_of::<S>(), of_key }
    }

    /// Describes the keys of a stage.
    ///
    /// As if they had the layout of their first version: how a table is built in memory says nothing of what is
    /// written down.
    pub(crate) fn of_keys<K: Hash + Eq + Clone>() -> Self {
        let of_key = KeySlots::<K>::BYTES_OF_KEY;
        StateType { name: type_name::<KeySlots<K>>(), bytes: 80, align: 8, of_key }
    }

    /// The bytes of one key's in a table; none if there is nothing to keep.
    pub(super) fn bytes_of_key(self) -> usize {
        if self.bytes > 0 { self.of_key } else { 0 }
    }

    /// The state, in this version; none if the type has no bytes, since then there is nothing to keep.
    pub(super) fn info(self, version: u32) -> Option<StateInfo> {
        (self.bytes > 0).then(|| StateInfo {
            type_name: self.name.to_owned(),
            fingerprint: Fingerprint::of(self.name, [self.bytes, self.align]),
            version,
        })
    }
}

/// The state that a stage keeps from one number to the next.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StateInfo {
    /// The type's name, as the compiler writes it. Inside `shard_by` there is one for every key.
    pub type_name: String,
    /// Changes with the type.
    pub fingerprint: Fingerprint,
    /// The version that the author set ([`Named::state_version`](crate::pipe::Named::state_version)), or 1.
    pub version: u32,
}

impl fmt::Display for StateInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} version {}", self.type_name, self.version)
    }
}

/// A number for a type of state: 64-bit FNV-1a over its name, size and alignment.
///
/// Equal fingerprints do not prove that two types are equal: exchanging two fields of one size changes nothing here.
/// Unequal ones do not prove that they differ: another compiler can write another name or lay the type out otherwise.
/// The text is 16 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(into = "String", try_from = "String"))]
pub struct Fingerprint(pub u64);

impl Fingerprint {
    fn of(name: &str, layout: [usize; 2]) -> Self {
        let mut hasher = crate::StableHasher::default();
        hasher.write(name.as_bytes());
        layout.into_iter().for_each(|part| hasher.write_u64(part as u64));
        Fingerprint(hasher.finish())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> String {
        fingerprint.to_string()
    }
}

impl FromStr for Fingerprint {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        u64::from_str_radix(text, 16).map(Fingerprint)
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = std::num::ParseIntError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}
