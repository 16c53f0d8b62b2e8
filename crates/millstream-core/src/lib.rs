//! Pipelines as values: the algebra, the shapes of its edges, its model and its plan.
//!
//! Every edge carries slots numbered 0, 1, 2, ...; a slot holds a value or is empty, and after the last number comes
//! one more slot called END. A stage fills its number's slot or leaves it empty; it never moves a value to another
//! number. Everything this crate promises follows from that law.
//!
//! The crate starts no thread, reads no clock, does no input or output and has no `unsafe`. (The model of a stage of
//! futures parks the calling thread until each is done.) A pipeline is built here, described here ([`Plan`]) and
//! specified here ([`model`]); other crates run it.
//!
//! ```
//! use millstream::prelude::*;
//!
//! let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x % 2 == 0));
//! assert_eq!(
//!     p.model([1, 2, 3, 4, 5]),
//!     [(1, false), (2, true), (3, false), (4, true), (5, false)]
//! );
//! ```

mod arrow;
mod backend;
#[doc(hidden)]
pub mod blocking;
pub mod combinators;
mod density;
pub mod failure;
#[doc(hidden)]
pub mod fusion;
mod joined;
pub mod keys;
mod marker;
pub mod model;
#[doc(hidden)]
pub mod notation;
pub mod pipe;
pub mod plan;
mod random;
mod sequence;
mod shape;
mod sink;
pub mod text;
pub mod wires;

pub use arrow::{
    Answered, Arrow, AsyncExt, BorrowedKeysExt, ChoiceExt, ClockExt, FeedbackExt, FoldExt, KernelsExt, KeysExt,
    NoObject, PartsExt, StreamsExt, TextExt, TryMapExt, TryScanExt, ViewExt, WindowsExt, WithFirst, WithLeft, WithPart,
    WithRight, WithSecond,
};
#[doc(hidden)]
pub use backend::Level;
pub use backend::{Backend, Deploy, On};
pub use density::{AtEnd, Dense, Density, Empty, Lane, Sparse};
pub use either::Either;
pub use failure::{Cause, Retry};
pub use joined::Joined;
pub use keys::{Bound, StableHasher, TooManyKeys};
pub use marker::{Determinate, KeepsClock, Quiet, Shardable};
pub use model::{Model, ModelExt, ModelSlots};
pub use pipe::{
    DeadLetter, ExpandKernel, Fault, FilterKernel, FoldedWindow, Late, Overflow, ScanKernel, TimeWindow, Timing, Top,
    UndoLog, Window, id, pipeline,
};
pub use plan::Plan;
pub use random::SplitMix64;
pub use sequence::SequenceNumber;
pub use shape::{
    AnyEdge, Choice, ChoiceShape, Distributed, Filtered, Flat, Item, ItemShape, Lends, Lens, Maybe, Merged, Nothing,
    OfPieces, Otherwise, Pair, PairShape, Part, Partitioned, Projected, SameItem, Shape, ShownBy, Shows, SideBySide,
    Swapped, Text, ToOwnedItem, Tuple, Twice, Val, lens,
};
pub use sink::{RunOutcome, Sink, SinkResult};
