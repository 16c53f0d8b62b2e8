//! Single-producer ring buffers, after the LMAX Disruptor: the storage of Millstream's slots.
//!
//! A [`Producer`] claims free slots, writes through the claim and publishes. A [`Reader`] owns its position; a
//! [`Batch`] lends it published slots and releases them when it is dropped. The producer never overtakes a reader:
//! every reader has a *gate*, the next number that it needs. Readers of several rings side by side
//! ([`Pair`](millstream_core::Pair), [`Filtered`](millstream_core::Filtered),
//! [`Projected`](millstream_core::Projected)) are joined by number and copy nothing.
//!
//! Several writers can fill one output ring. With [`run_writers`], k [`RunWriter`]s claim runs of one input and fill
//! the same numbers of the output. With [`keyed_writers`], each of k [`KeyedWriter`]s fills the numbers whose keys are
//! its own. The two [`LaneWriter`]s of a choice can also fill one ring.
//!
//! ```
//! use millstream::{prelude::*, ring::ring};
//!
//! let (mut producer, mut reader) = ring::<char, Dense>(2)?;
//! let mut claim = producer.try_claim(2)?.expect("the ring is empty");
//! assert_eq!((claim.first().0, claim.last().0), (0, 1));
//! claim.write('a');
//! claim.write('b');
//! claim.publish();
//! assert!(producer.try_claim(1)?.is_none(), "the ring is full");
//!
//! let batch = reader.batch(8).expect("two slots are published");
//! assert_eq!(batch.iter().flatten().collect::<String>(), "ab");
//! drop(batch); // releases them
//! assert_eq!(producer.try_claim(1)?.expect("there is room").first().0, 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! This is the only crate of the project with `unsafe`; SAFETY.md pairs every release with its acquire. No safe call
//! reaches an unpublished or a released slot: none reaches a slot by its number, and a lent reference borrows its
//! reader.
//!
//! **Words**: an *spsc* or *mpsc* ring hands its items over to one receiver, from one sender or from several. A *run*
//! is the numbers that one run writer claims together, and the *floor* is where its present run starts.
#![allow(unsafe_code)]

mod batch;
mod bypass;
mod claim;
mod error;
mod gate;
mod keyed_writer;
mod keyed_writers;
mod lane;
mod last;
mod mark;
pub mod mpsc;
mod occupancy;
mod probe;
mod producer;
mod reader;
mod run_writer;
mod run_writers;
mod shared;
mod slots;
pub mod spsc;
mod sweeper;
mod sync;
mod text;
mod vectorised;
mod view;
mod wait;
mod wiring;
mod writer_core;

pub use batch::{Batch, End, Iter};
pub use bypass::{IdleRings, Passed, RingEnd};
pub use claim::Claim;
pub use error::{CapacityError, ClaimError};
pub use keyed_writer::KeyedWriter;
pub use keyed_writers::keyed_writers;
pub use lane::{LaneWriter, OtherLane, is_lane, lane};
pub use last::Last;
pub use mark::{Mark, MarkKind};
pub use occupancy::Occupancy;
pub use probe::{InputProbe, RingProbe};
pub use producer::Producer;
pub use reader::Reader;
pub use run_writer::RunWriter;
pub use run_writers::{run_writers, text_run_writers};
pub use slots::SlotSlice;
pub use sweeper::Sweeper;
pub use text::{Kind, Passing, Pen, Sheet, Span};
pub use view::{
    AnyChunk, AnyView, FilteredView, Leaf, MaybeView, MergedView, OneRing, PartChunk, PartView, ProjectedView,
    RingLayout, View, ZipView,
};
pub use wait::{IdleStrategy, WaitError};
pub use wiring::{Wiring, ring, ring_from, text_ring};
