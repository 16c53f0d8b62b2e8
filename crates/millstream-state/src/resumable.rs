//! Sources that can begin in the middle, and the trail of a source's positions.

#[cfg_attr(not(feature = "service"), expect(dead_code, reason = "services follow"))]
mod behind;
mod either;
mod followed;
mod in_groups;
mod journaled;
mod recorded;
mod stored_path;
mod text_files;
mod values;

#[cfg(feature = "service")]
pub(crate) use behind::At;
pub(crate) use behind::Behind;
pub use followed::{FollowedBytes, FollowedFile, FollowedFileStopper, FollowedLines};
pub use in_groups::{Groups, journaled_in_groups};
pub use journaled::{Each, JournalPlace, Journaled, JournaledValues, journaled};
pub use recorded::Recorded;
#[doc(hidden)]
pub use recorded::{as_postcard, of_postcard};
pub use text_files::{FileBlocks, FilePlace, TextFiles};
pub use values::{Again, Counted, again};

use millstream_core::Item;
use millstream_exec::Source;
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A source that can say where it is between two values, and begin there in another process: the same values follow.
///
/// Between two values, a source says where it is by a [`Mark`](Resumable::Mark), which costs little. A snapshot stores
/// the [position](Resumable::position) of a mark, which may cost more: that of a file has a hash of the bytes before
/// it.
///
/// ```
/// use millstream::state::{Places, Position, Resumable};
///
/// /// The numbers from `first` on.
/// struct From(u64);
///
/// struct Numbers(u64);
///
/// impl Iterator for Numbers {
///     type Item = u64;
///     fn next(&mut self) -> Option<u64> {
///         self.0 += 1;
///         Some(self.0 - 1)
///     }
/// }
///
/// impl Places for Numbers {
///     type Mark = u64;
///     fn place(&self) -> u64 {
///         self.0
///     }
/// }
///
/// impl Resumable<u64> for From {
///     type Mark = u64;
///     type Values = Numbers;
///     const WAITS: bool = false;
///     fn begin(&self, position: Option<&Position>) -> std::io::Result<Numbers> {
///         Ok(Numbers(position.and_then(Position::as_u64).unwrap_or(self.0)))
///     }
///     fn position(&self, mark: &u64) -> std::io::Result<Position> {
///         Ok((*mark).into())
///     }
/// }
///
/// let mut numbers = From(5).begin(None)?;
/// assert_eq!(numbers.nth(1), Some(6));
/// let position = From(5).position(&numbers.place())?;
/// assert_eq!(From(5).begin(Some(&position))?.next(), Some(7));
/// # Ok::<(), std::io::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a source of `{T}` that can begin in the middle",
    note = "files are: `TextFiles`, `FollowedFile`; `again(values)` is one of values that are the same each time"
)]
pub trait Resumable<T: Item>: Send + Sync + 'static {
    /// A position between two values, in memory.
    type Mark: Clone + Send + 'static;
    /// Its values.
    type Values: Places<Item = T, Mark = Self::Mark> + Send + 'static;
    /// Whether the next value may have to be waited for. See [`Source::WAITS`].
    const WAITS: bool;

    /// Whether the next value of this source may have to be waited for. See [`Source::waits`].
    fn waits(&self) -> bool {
        Self::WAITS
    }

    /// Whether its values from a position on are the same each time, one by one. If not, as when the cuts between
    /// values depend on the time of the read, every number has a mark of its own, and no number is reached by reading
    /// on from an earlier mark.
    fn repeats(&self) -> bool {
        true
    }

    /// Whether a number between two snapshots is reached by counting its values from the first of them. If not, as
    /// when the cuts between values depend on the time of the read, only the numbers of snapshots are those of the
    /// run, and a [replay](crate::replay) stops at no other one.
    fn recounts(&self) -> bool {
        self.repeats()
    }

    /// Whether this mark is the place of a stored position; `None` if counting always leads there. A replay that counts
    /// asks it at the positions of the snapshots that it passes, and at the next one: a file that had ended where it
    /// was cut may have grown since.
    fn is_at(&self, mark: &Self::Mark, position: &Position) -> Option<bool> {
        let _ = (mark, position);
        None
    }

    /// Its values between two stored positions, for a source that does not [recount](Resumable::recounts): they end
    /// at the second one. Without a first position they are those from the first value on.
    ///
    /// # Errors
    ///
    /// If the values between the two cannot be found again.
    fn between(&self, from: Option<&Position>, to: &Position) -> io::Result<Self::Values> {
        let _ = (from, to);
        Err(io::Error::other("it cannot end at a stored position"))
    }

    /// Called before [`begin`](Resumable::begin): sinks or effects have what came of this many values after the
    /// position. A source that records its values refuses to begin if it has fewer.
    fn expect(&self, values: u64) {
        let _ = values;
    }

    /// Its values from this position on; from the first one on if there is none.
    ///
    /// # Errors
    ///
    /// If it cannot begin there: a file has changed, for example.
    fn begin(&self, position: Option<&Value>) -> io::Result<Self::Values>;

    /// The stored form of a mark.
    ///
    /// # Errors
    ///
    /// If it cannot be determined. Then the snapshot is not stored.
    fn position(&self, mark: &Self::Mark) -> io::Result<Value>;

    /// Whether a source that records what comes, as one with a [journal](journaled) does, has passed on all that it has
    /// recorded when it is `further` values after this mark.
    fn has_passed(&self, mark: &Self::Mark, further: u64) -> bool {
        let _ = (mark, further);
        true
    }

    /// Called when no snapshot from before this position is kept any longer: data for those can be removed.
    fn forget(&self, oldest: &Position) {
        let _ = oldest;
    }

    /// Called when the run is over: another process may then write where this source has written.
    fn let_go(&self) {}

    /// The error that ended its values early, if there was one. Called when the run is over.
    fn failure(&self) -> Option<io::Error> {
        None
    }
}

/// A position as it is stored: JSON.
pub type Position = Value;

/// Values, and where they are.
pub trait Places: Iterator {
    /// Where they are, between two values.
    type Mark;

    /// Where they are now: just before the value that [`next`](Iterator::next) returns.
    fn place(&self) -> Self::Mark;
}

/// The most marks that are kept between two snapshots.
const MARKS: usize = 1024;
/// The same for a source whose values do not repeat. Older marks are forgotten: snapshots are of late numbers.
const ALL_MARKS: usize = 1 << 16;

/// Where a source was at some of its numbers: at all of the latest ones while they are few, and at every second,
/// fourth, and so on where they are many. From a mark at or before a number the source reaches that number by leaving
/// out the values between the two. Of a source whose values do not repeat it has the latest ones, without a gap.
pub(crate) struct Trail<M> {
    repeats: bool,
    every: AtomicU64,
    marks: Mutex<VecDeque<(u64, M)>>,
}

impl<M: Clone> Trail<M> {
    /// For a source that [repeats](Resumable::repeats), or not.
    pub(crate) fn new(repeats: bool) -> Arc<Self> {
        Arc::new(Trail { repeats, every: AtomicU64::new(1), marks: Mutex::default() })
    }

    fn marks(&self) -> MutexGuard<'_, VecDeque<(u64, M)>> {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The source is at this number, and there.
    fn put(&self, number: u64, mark: impl FnOnce() -> M) {
        let every = self.every.load(Ordering::Relaxed);
        if !number.is_multiple_of(every) {
            return;
        }
        let mark = mark();
        let mut marks = self.marks();
        marks.push_back((number, mark));
        if !self.repeats {
            if marks.len() > ALL_MARKS {
                marks.pop_front();
            }
        } else if marks.len() > MARKS {
            let every = every * 2;
            self.every.store(every, Ordering::Relaxed);
            let first = marks[0].0;
            marks.retain(|(number, _)| number.is_multiple_of(every) || *number == first);
        }
    }

    /// The last mark at or before this number, with its own number. Earlier ones are forgotten.
    pub(crate) fn at(&self, number: u64) -> Option<(u64, M)> {
        let mut marks = self.marks();
        while marks.get(1).is_some_and(|(next, _)| *next <= number) {
            marks.pop_front();
        }
        if marks.len() < MARKS / 2 {
            self.every.store(1, Ordering::Relaxed);
        }
        marks.front().filter(|(at, _)| if self.repeats { *at <= number } else { *at == number }).cloned()
    }
}

/// A resumable source that leaves a trail.
pub(crate) struct Trailing<T, X: Resumable<T>>
where
    T: Item,
{
    values: TrailingValues<X::Values>,
    waits: bool,
    item: PhantomData<fn() -> T>,
}

pub(crate) struct TrailingValues<V: Places> {
    values: V,
    trail: Arc<Trail<V::Mark>>,
    number: u64,
    /// The number of the first value that is passed on.
    begins: u64,
}

impl<T: Item, X: Resumable<T>> Trailing<T, X> {
    /// The source from the number `at` on. It begins at a position, with that position's number, which is at most `at`;
    /// at its first value and number 0 if there is none. If it follows another process, the values up to `at` are left
    /// out when they come: of the last one it may not be known yet that it is durable.
    ///
    /// # Errors
    ///
    /// If it cannot begin there, or ends before.
    pub(crate) fn new(
        source: &X,
        position: Option<(u64, Position)>,
        at: u64,
        trail: Arc<Trail<X::Mark>>,
        follows: bool,
    ) -> io::Result<Self> {
        let (number, position) = position.unzip();
        let values = source.begin(position.as_ref())?;
        Self::of(source, values, number.unwrap_or(0), at, trail, follows)
    }

    /// As [`new`](Trailing::new), of these values of the source, from the number `number` on.
    pub(crate) fn of(
        source: &X,
        values: X::Values,
        number: u64,
        at: u64,
        trail: Arc<Trail<X::Mark>>,
        follows: bool,
    ) -> io::Result<Self> {
        let mut values = TrailingValues { values, trail, number, begins: at };
        values.leave_mark();
        if !follows && let Err(number) = values.leave_out() {
            let why = format!("it ends at number {number}, before the snapshot's number {at}: is it the same input?");
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, why));
        }
        Ok(Trailing { values, waits: source.waits(), item: PhantomData })
    }
}

impl<V: Places<Mark: Clone>> TrailingValues<V> {
    /// Leaves out the values before the first one that is passed on; the number at which they end if that is before.
    fn leave_out(&mut self) -> Result<(), u64> {
        while self.number < self.begins {
            self.values.next().ok_or(self.number)?;
            self.number += 1;
            self.leave_mark();
        }
        Ok(())
    }

    /// Where the source is.
    pub(crate) fn place(&self) -> V::Mark {
        self.values.place()
    }

    fn leave_mark(&self) {
        self.trail.put(self.number, || self.values.place());
    }
}

impl<V: Places<Mark: Clone>> Iterator for TrailingValues<V> {
    type Item = V::Item;

    fn next(&mut self) -> Option<V::Item> {
        self.leave_out().ok()?;
        let value = self.values.next()?;
        self.number += 1;
        // The mark is left now, and not when the next value is read: a snapshot here may be stored before that.
        self.leave_mark();
        Some(value)
    }
}

impl<T: Item, X: Resumable<T>> Source<T> for Trailing<T, X> {
    type Values = TrailingValues<X::Values>;
    const WAITS: bool = X::WAITS;
    /// Each value leaves its place, and most come from a file.
    const IN_LOOP: bool = false;
    const LOOP_BEHIND: bool = false;

    fn waits(&self) -> bool {
        self.waits
    }

    fn into_values(self) -> Self::Values {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL_MARKS, MARKS, Trail};

    #[test]
    fn a_trail_has_a_mark_at_or_a_little_before_every_number() {
        let trail = Trail::new(true);
        let mut last = 0;
        for number in 0..100_000_u64 {
            trail.put(number, || number * 10);
            assert!(trail.marks().len() <= MARKS);
            if number % 7919 == 7918 {
                let (at, mark) = trail.at(number).unwrap();
                assert_eq!(mark, at * 10);
                let since = number - last;
                assert!(number - at <= 4 * since / MARKS as u64 + 1, "{at} for {number}, {last} before");
                last = number;
            }
        }
    }

    #[test]
    fn a_source_that_does_not_repeat_has_a_mark_at_every_late_number() {
        let trail = Trail::new(false);
        let numbers = 3 * ALL_MARKS as u64;
        (0..numbers).for_each(|number| trail.put(number, || number * 10));
        for number in [numbers - ALL_MARKS as u64, numbers - 4321, numbers - 4320, numbers - 1] {
            assert_eq!(trail.at(number), Some((number, number * 10)));
        }
        let trail = Trail::new(false);
        (0..numbers).for_each(|number| trail.put(number, || number * 10));
        assert_eq!(trail.at(1), None);
    }

    #[test]
    fn a_trail_that_begins_after_a_number_has_no_mark_for_it() {
        let trail = Trail::new(true);
        trail.put(6, || ());
        assert_eq!(trail.at(5), None);
        assert_eq!(trail.at(9), Some((6, ())));
    }
}
