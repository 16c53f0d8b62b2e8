//! Text that flows without being copied: blocks of bytes, the pieces they are cut into, and who writes new ones.
//!
//! A [`Block`] is memory that is shared and not changed any more. What flows on an edge of [`Text`](crate::Text) are
//! [pieces](Piece) of blocks: lines, words, records. A stage that takes a piece apart, or keeps a part of it, gives pieces
//! of the same block; one that writes appends to a block of its own, through a [`Writer`].

mod block;
mod cut;
mod owned;
mod piece;
mod writer;

pub use block::{Block, BlockPool, Draft};
pub use cut::{Cut, Cutting, Fields, Lines, LinesWithEnds, Prefixed, Records, Words};
pub use owned::OwnedPiece;
pub use piece::{Piece, Textual};
pub use writer::Writer;
