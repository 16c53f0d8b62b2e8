//! Sources that can begin in the middle.

#[cfg_attr(not(feature = "service"), expect(dead_code, reason = "services follow"))]
mod behind;
mod either;
mod followed;
mod in_groups;
mod journaled;
mod recorded;
mod stored_path;
mod text_files;
mod trail;
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
pub(crate) use trail::{Trail, Trailing};
pub use values::{Again, Counted, again};

use millstream_core::Item;
use serde_json::Value;
use std::io;

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
    /// Whether the next value may have to be waited for. See [`Source::WAITS`](millstream_exec::Source::WAITS).
    const WAITS: bool;

    /// Whether the next value of this source may have to be waited for. See
    /// [`Source::waits`](millstream_exec::Source::waits).
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

    /// Whether it can begin at this position, as far as that is known before it begins. A job asks before it changes
    /// its output.
    ///
    /// # Errors
    ///
    /// As [`begin`](Resumable::begin). A source that does not say ends the start only when the sink has gone back.
    fn can_begin(&self, position: &Position) -> io::Result<()> {
        let _ = position;
        Ok(())
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

    /// Whether the last value was whole. The last line of a file that ends without a line end may have grown when it is
    /// read again, so a job stores no snapshot behind it: the next start reads all of the line again.
    fn is_whole(&self) -> bool {
        true
    }
}

/// The error of a position that no source of this kind has stored.
pub(crate) fn of_another_source(expected: &str, position: &Position) -> io::Error {
    let why = format!("the snapshot was taken of another source: its place there is {position}, and not {expected}");
    io::Error::new(io::ErrorKind::InvalidInput, why)
}
