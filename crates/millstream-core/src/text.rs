//! Text that flows without being copied: blocks of bytes, the pieces that they are cut into, and the writer of new
//! ones.
//!
//! A [`Block`] is shared memory that does not change any more. An edge of [`Text`](crate::Text) carries
//! [pieces](Piece) of blocks: lines, words, records. A stage that cuts a piece, or keeps a part of it, passes on
//! pieces of the same block. A stage that writes text appends to a block of its own, through a [`Writer`].

mod block;
mod owned;
mod piece;
mod split;
mod writer;

pub use block::{Block, BlockPool, Draft};
pub use owned::OwnedPiece;
pub use piece::{Piece, Textual};
#[doc(hidden)]
pub use split::not_a_part;
pub use split::{Cut, Fields, Lines, LinesWithEnds, Prefixed, Records, Splitter, Words};
pub use writer::Writer;
