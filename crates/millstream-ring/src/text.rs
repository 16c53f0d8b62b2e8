//! Rings of text: slots say where in which block their pieces lie, and the last piece of each run of one block keeps it.
//!
//! **Who keeps a block alive.** Whoever fills slots does so in runs, and a run is published as a whole or not at all. Of the
//! spans in it, consecutive filled ones of one block share one count of that block, and the last of them has it. A producer
//! drops values in the order of their numbers, and only those that all readers have released: so when it drops the count,
//! nobody reads any span that relied on it.

mod pen;
mod run;
mod span;

pub use pen::Pen;
pub use run::Passing;
pub(crate) use run::Run;
pub use span::{Kind, Span};
