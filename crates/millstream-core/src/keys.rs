//! Keys: the bound on their number, their hash, and the slot of each.

mod key;
mod key_slots;
mod key_states;
mod place_table;
mod shared_state;
mod stable_hash;
mod table_hash;
#[cfg(feature = "serde")]
mod written;

pub use key::{FoundKey, Key, MadeKey};
pub use key_slots::{FreeSlots, KeyMove, KeySlot, KeySlots, LruEntry};
pub use key_states::KeyStates;
#[cfg(feature = "serde")]
pub use place_table::TableChanges;
pub use place_table::{CopyStamp, PlaceTable};
pub use shared_state::SharedState;
#[cfg(feature = "serde")]
pub use shared_state::{StateChanges, apply_changes};
pub use stable_hash::{Stable, StableHasher};
pub(crate) use table_hash::Quick;

use std::fmt;

/// How many keys a stage may keep a state for at once, or how many bytes, and what happens at a further key.
///
/// The bound applies to all keys of the stage together, and a key counts from its first value on. Its effect depends
/// on the numbers and the values alone: it is the same for every number of tasklets and on every deployment. For that
/// reason a bound in bytes is a number of keys, which follows from the sizes of the types
/// ([`within_bytes`](Bound::within_bytes)).
///
/// ```
/// use millstream::prelude::*;
/// // The count of words so far with this first letter.
/// // The least recently seen letter is forgotten.
/// let first = |word: &&str| word.chars().next();
/// let p = pipeline::<&str>()
///     .shard_by_within(Bound::forget(2), first, 4, |p| p.scan(0, |n, _| { *n += 1; *n }));
/// assert_eq!(p.model(["ant", "bee", "asp", "cat", "bug"]), [1, 1, 2, 1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Bound {
    most: usize,
    forgets: bool,
    /// It is not written down: the present pipeline says it.
    #[cfg_attr(feature = "serde", serde(skip))]
    bytes: Option<usize>,
}

impl Bound {
    /// Allows `most` keys: the first value of a further key ends the run with an error.
    ///
    /// # Panics
    ///
    /// If `most` is 0 or more than 4,294,967,295.
    #[must_use]
    pub fn refuse(most: usize) -> Self {
        Bound::new(most, false)
    }

    /// Keeps `most` keys: a further key evicts the key whose last value has the lowest number. The state of the
    /// evicted key is dropped, and the key starts from the beginning if it comes again. The further key takes its place
    /// in the tables, in the same tasklet.
    ///
    /// # Panics
    ///
    /// If `most` is 0 or more than 4,294,967,295.
    #[must_use]
    pub fn forget(most: usize) -> Self {
        Bound::new(most, true)
    }

    fn new(most: usize, forgets: bool) -> Self {
        assert!(most >= 1, "a stage with keys needs room for at least one");
        assert!(u32::try_from(most).is_ok(), "a stage keeps at most {} keys", u32::MAX);
        Bound { most, forgets, bytes: None }
    }

    /// Allows as many keys as these bytes have room for: `refuse` with that number. See
    /// [`within_bytes`](Bound::within_bytes).
    #[must_use]
    pub fn refuse_bytes(bytes: usize) -> Self {
        Bound::refuse(u32::MAX as usize).within_bytes(bytes)
    }

    /// Keeps as many keys as these bytes have room for: `forget` with that number. See
    /// [`within_bytes`](Bound::within_bytes).
    #[must_use]
    pub fn forget_bytes(bytes: usize) -> Self {
        Bound::forget(u32::MAX as usize).within_bytes(bytes)
    }

    /// The same bound, and at most this many bytes for the tables of the keys and of their states.
    ///
    /// [`shard_by_within`](crate::KeysExt::shard_by_within) divides them by the bytes of one key, and the plan shows
    /// the number of keys that there is room for. One key takes its entries in two tables, the table with the room
    /// that it has after it has grown, and the state of every stage of the body. What the key or a state owns on the
    /// heap does not count: a `String` takes 24 bytes, whatever its length. Neither do the copies of some states while
    /// a snapshot is written.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// // The last value of as many keys as a mebibyte has room for.
    /// let last = pipeline::<u64>().shard_by_within(
    ///     Bound::forget_bytes(1 << 20), |x| x % 100_000, 2, |p| p.scan(0, |last, x| std::mem::replace(last, *x)));
    /// let keys = last.plan().stages[0].keys.unwrap();
    /// assert!((10_000..20_000).contains(&keys), "{keys}");
    /// ```
    #[must_use]
    pub fn within_bytes(self, bytes: usize) -> Self {
        Bound { bytes: Some(bytes), ..self }
    }

    /// The bound in keys alone, if a key has this many bytes. If the bytes have room for more keys than are allowed,
    /// they bound nothing.
    ///
    /// # Panics
    ///
    /// If there is no room for one key.
    pub(crate) fn with_bytes_of_key(self, each: impl FnOnce() -> usize) -> Self {
        let Some(bytes) = self.bytes else { return self };
        let each = each().max(1);
        assert!(bytes >= each, "a key takes {each} bytes, and the bound of {bytes} bytes has no room for one");
        let room = bytes / each;
        if self.most <= room { Bound { bytes: None, ..self } } else { Bound { most: room, ..self } }
    }

    /// The number of keys at once, at most.
    #[must_use]
    pub fn most(self) -> usize {
        self.most
    }

    /// Whether a further key evicts another one, instead of ending the run.
    #[must_use]
    pub fn forgets(self) -> bool {
        self.forgets
    }

    /// The error for a further key.
    #[must_use]
    pub fn refusal(self) -> TooManyKeys {
        TooManyKeys { most: self.most, room: self.bytes.map_or(Room::Bound, Room::Bytes) }
    }
}

/// Refuses the 1,048,577th key.
impl Default for Bound {
    fn default() -> Self {
        Bound::refuse(1 << 20)
    }
}

/// The error of a key beyond the bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyKeys {
    most: usize,
    room: Room,
}

/// What sets the number of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Room {
    Bound,
    Bytes(usize),
    /// A number: every key is kept until END.
    Number,
}

impl TooManyKeys {
    /// The error of a stage that keeps every key until END, `most` at most.
    pub(crate) fn kept_until_end(most: usize) -> Self {
        TooManyKeys { most, room: Room::Number }
    }
}

impl fmt::Display for TooManyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there are {} keys, and this value would add one: ", self.most)?;
        match self.room {
            Room::Bound => write!(
                f,
                "allow more keys with `Bound::refuse(n)`, or evict the least recently seen ones with \
                 `Bound::forget(n)`, in the stage's method `.._within(bound, ..)`, as in `shard_by_within(bound, ..)`"
            ),
            Room::Number => {
                write!(f, "allow more keys with the stage's method `.._within(n, ..)`, as in `fold_by_within(n, ..)`")
            }
            Room::Bytes(bytes) => write!(
                f,
                "the bound of {bytes} bytes has room for no more; raise it, or evict the least recently seen keys \
                 with `Bound::forget_bytes(n)`"
            ),
        }
    }
}

impl std::error::Error for TooManyKeys {}
