//! Where streams begin and end: bytes in blocks from files and standard input, counts over them, and a way out.
//!
//! Nothing here knows of rings or threads. [`Blocks`] and [`LineBlocks`] are iterators that any deployment can take as its source, the
//! counters of [`text`] are states for `fold`, and [`stdio`] gives the standard streams without a buffer in between.
//!
//! ```
//! use millstream_io::{Blocks, text::Words};
//!
//! let mut words = Words::default();
//! for block in Blocks::new(&b"to be or not to be"[..]) {
//!     words.read(&block);
//! }
//! assert_eq!(words.count(), 6);
//! ```

mod block;
mod blocks;
mod failure;
mod line_blocks;
pub mod stdio;
pub mod text;

pub use block::Block;
pub use blocks::Blocks;
pub use failure::Failure;
pub use line_blocks::LineBlocks;
