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
//! use millstream_core::{Arrow, Modelled, pipeline};
//!
//! let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x % 2 == 0));
//! assert_eq!(
//!     p.model([1, 2, 3, 4, 5]),
//!     [(1, false), (2, true), (3, false), (4, true), (5, false)]
//! );
//! ```

mod arrow;
mod backend;
mod density;
pub mod failure;
mod flow;
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
pub mod text;

pub use arrow::{
    Arrow, ArrowChoice, ArrowLoop, ArrowParts, AsyncExt, ClockExt, First, KeysExt, LeftLane, RightLane, Second,
    StreamsExt, TextExt,
};
pub use backend::{Backend, Deploy, On};
pub use density::{AtEnd, Density, Empty, Full, Holed, Lane};
pub use either::Either;
pub use failure::{Cause, Retry};
pub use flow::{
    Choice, Distributed, Event, Flow, Fst, Lens, Lft, Like, Masked, Nothing, OfPieces, OneOf, Own, Pair, Rgt, Seen,
    SideBySide, Snd, Swapped, Text, Twice, Val,
};
pub use joined::Joined;
pub use keys::{Bound, StableHasher, TooManyKeys};
pub use marker::{Determinate, KeepsClock, Quiet, Stateless};
pub use model::{Model, Modelled};
pub use pipe::{DeadLetter, Fault, Late, Overflow, TimeWindow, Window, id, pipeline};
pub use plan::Plan;
pub use random::SplitMix64;
pub use sequence::SequenceNumber;
