//! Keys: how many a stage may have at once, how they hash, and where each one sits.

mod key_slots;
mod stable_hash;

pub use key_slots::{FreeSlots, KeySlot, KeySlots};
pub use stable_hash::{Stable, StableHasher};

use std::fmt;

/// How many keys a stage may keep a state for at once, and what a further one does.
///
/// The bound is on all keys of the stage together, and a key counts from its first value on. So what it does is decided
/// by the numbers and the values alone: it is the same for every number of tasklets and on every deployment.
///
/// ```
/// use millstream_core::{Arrow, Bound, KeysExt, ModelExt, pipeline};
/// // Of the words so far, how many had this first letter? Of letters that were not seen for long, nobody remembers.
/// let first = |word: &&str| word.chars().next();
/// let p = pipeline::<&str>().shard_by_within(Bound::forget(2), first, 4, |p| p.scan(0, |n, _| { *n += 1; *n }));
/// assert_eq!(p.model(["ant", "bee", "asp", "cat", "bug"]), [1, 1, 2, 1, 1]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bound {
    most: usize,
    forgets: bool,
}

impl Bound {
    /// At most so many keys: the run ends with an error at the first value of a further one.
    ///
    /// # Panics
    ///
    /// If `most` is 0 or more than 4,294,967,295.
    #[must_use]
    pub fn refuse(most: usize) -> Self {
        Bound::new(most, false)
    }

    /// At most so many keys: a further one takes the place of the one whose last value is the longest ago, by number. What
    /// was kept for that key is forgotten, and if it comes again, it begins anew.
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
        Bound { most, forgets }
    }

    /// How many keys there are at once, at most.
    #[must_use]
    pub fn most(self) -> usize {
        self.most
    }

    /// Whether a further key takes the place of another, and not the run to its end.
    #[must_use]
    pub fn forgets(self) -> bool {
        self.forgets
    }

    /// What is said where there is no room for a further key.
    #[must_use]
    pub fn refusal(self) -> TooManyKeys {
        TooManyKeys { most: self.most }
    }
}

/// Refuses the key behind the 1,048,576th.
impl Default for Bound {
    fn default() -> Self {
        Bound::refuse(1 << 20)
    }
}

/// A key came for which there was no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyKeys {
    most: usize,
}

impl fmt::Display for TooManyKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "there are {} keys, and this value has a further one: allow more of them with `Bound::refuse(n)`, \
             or let those that were not seen for long be forgotten with `Bound::forget(n)`",
            self.most
        )
    }
}

impl std::error::Error for TooManyKeys {}
