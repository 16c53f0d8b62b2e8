//! Single-producer ring buffers, after the LMAX Disruptor: the place where Millstream's slots live.
//!
//! A [`Producer`] claims free slots, writes through the claim and publishes. A [`Reader`] owns its position; a
//! [`Batch`] lends it published slots and releases them when it is done. The producer never overtakes a reader: every
//! reader is a *gate*, which says the next number it needs. Readers of several rings side by side
//! ([`Pair`](millstream_core::Pair), [`Masked`](millstream_core::Masked), [`Seen`](millstream_core::Seen)) are joined by
//! number and copy nothing. A [`group`] lets k [`Member`]s claim runs of one input and fill the same numbers of one
//! output ring; in a [`team`] each of k [`Mate`]s fills the numbers whose keys are its own, and the two
//! [`Lane`]s of a choice can fill one ring as well.
//!
//! ```
//! use millstream_ring::ring;
//! use millstream_core::Full;
//!
//! let (mut producer, mut reader) = ring::<char, Full>(2)?;
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
//! This is the only crate of the project with `unsafe`; SAFETY.md says which release pairs with which acquire. No safe
//! call reaches an unpublished or a released slot: none reaches a slot by its number, and what is lent borrows its
//! reader.
#![allow(unsafe_code)]

mod batch;
mod census;
mod claim;
mod crew;
mod error;
mod gate;
mod group;
mod lane;
mod last;
mod mark;
mod mate;
mod member;
mod moving;
mod probe;
mod producer;
mod reader;
mod shared;
mod slots;
mod sweeper;
mod sync;
mod team;
mod text;
mod vectorised;
mod view;
mod wait;
mod wiring;

pub use batch::{Batch, End, Iter};
pub use census::Empties;
pub use claim::Claim;
pub use error::{CapacityError, ClaimError, MarksFull};
pub use group::{group, text_group};
pub use lane::{Lane, OtherLane, is_lane, lane};
pub use last::Last;
pub use mark::Mark;
pub use mate::Mate;
pub use member::Member;
pub use moving::{Given, Giver, SharedGiver, SharedTaker, Taken, Taker, moving_ring, shared_ring};
pub use probe::{InputProbe, RingProbe};
pub use producer::Producer;
pub use reader::Reader;
pub use slots::Slice;
pub use sweeper::Sweeper;
pub use team::team;
pub use text::{Kind, Passing, Pen, Span};
pub use view::{Leaf, MaskedView, OneOfView, OneRing, SeenView, View, Wire, ZipView};
pub use wait::{IdleStrategy, WaitError};
pub use wiring::{Wiring, ring, text_ring};
