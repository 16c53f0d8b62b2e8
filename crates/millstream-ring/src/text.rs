//! Rings of text. A slot holds a *span*, 16 bytes: a block of bytes, and the place of a piece in it.
//!
//! A stage that splits text or keeps a part of it writes spans of the block that it reads: no byte is copied, and
//! nothing is allocated per piece. A stage that writes text appends to a block of its own, which it uses again when the
//! last piece of the block is released. Masks, lenses, fan-outs, `shard` and choices treat a ring of spans as any other
//! ring. The keyed writers of a `shard_by` are the exception; they write no text.
//!
//! **What keeps a block alive.** There is no reference count per piece. Slots are filled in runs, and a run is
//! published as a whole or not at all. Consecutive filled spans of one block in a run share one count of the block,
//! which the last of them has. A producer drops values in the order of their numbers, and only those that all readers
//! have released. So when it drops the count, no reader can read a span that relied on it.
//!
//! **Bounded memory.** Spans are written by a [`Pen`]. It counts the bytes of the blocks of its runs that some reader
//! still needs. At [`Pen::LIMIT`] of them it has no room, so memory is bounded however long the pieces are. It looks
//! only at the releases of its own ring. A stage therefore waits for its pen as it waits for slots: a reader that
//! releases wakes it, and the argument against deadlock (`tasklet.rs` in `millstream-exec`) holds unchanged.

mod pen;
mod run;
mod sheet;
mod span;

pub use pen::Pen;
pub use run::Passing;
pub(crate) use run::Run;
pub use sheet::Sheet;
pub use span::{Kind, Span};
