//! The ends of streams: blocks of bytes from files and standard input, ticks, counts over bytes, and files to write to.
//!
//! This crate knows neither rings nor threads. A source is an iterator, which any deployment takes: [`Blocks`],
//! [`WholeBlocks`] or [`LineBlocks`] of a reader, which may be a file, several [`Files`], a file that [grows](Follow)
//! or [standard input](stdio::input); [`ticks`](time::ticks); and [`Traffic`] for load tests. They may wait, so do not
//! mark them as `ready`. An iterator cannot return an error, so its [`Failure`] keeps the error that ended it.
//!
//! The counters of [`text`] are states for `fold`. A [`FileSink`] is a sink. So is a closure with a state, such as a
//! `File` or a vector (`to_fold`); `collect` gathers the output in a vector.
//!
//! ```
//! use millstream::io::{Blocks, text::Words};
//!
//! let mut words = Words::default();
//! for block in Blocks::new(&b"to be or not to be"[..]) {
//!     words.read(&block);
//! }
//! assert_eq!(words.count(), 6);
//! ```
//!
//! **Promises, and their tests** (in `tests/all`): blocks, lines and counts are the same wherever a reader cuts its
//! bytes (`blocks`, `whole_blocks`, `line_blocks`, `words`); a file is the old one until it is the new one, and every
//! failure names it (`files`, `file_sink`); a file that grows is read once, also if it is replaced (`follow`).

mod blocks;
mod failure;
mod file_sink;
mod files;
mod follow;
mod line_blocks;
mod named;
pub mod stdio;
pub mod text;
pub mod time;
mod traffic;
mod whole_blocks;

pub use blocks::Blocks;
pub use failure::Failure;
pub use file_sink::{FileSink, FileSinkOptions, Position, SyncPolicy};
#[cfg(feature = "glob")]
pub use files::matching;
pub use files::{Decompressed, Files};
#[doc(hidden)]
pub use follow::rotated;
pub use follow::{Follow, FollowPlace, FollowPlaces, FollowStopper, NextFile};
pub use line_blocks::LineBlocks;
pub use millstream_core::text::Block;
pub use traffic::{Arrival, Arrivals, Traffic};
pub use whole_blocks::{Framing, WholeBlocks};
