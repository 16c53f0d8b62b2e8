//! The same pipeline on several machines, over a log that others replicate.
//!
//! **The rule: batch k of an output edge is a function of batches 1 to k of its input edge, and an append of batch k
//! is conditional on the last one being k - 1.** So a second copy of a segment, one that was thought dead, or an append
//! that is tried again, writes the same bytes at the same place, or is refused. No lease is needed to be right, and
//! this crate has no consensus, no replication and no protocol: a [`Log`] has them.
//!
//! A [`Segment`] is what runs between two edges: a pipeline on rings ([`OnRings`]). A [`Replica`] reads the input edge,
//! computes, compares what it has with what the output edge has, and appends what is missing there. Two replicas of one
//! segment compute everything; one of them appends. [`Ingress`] brings batches to the first edge.
//!
//! [`MemoryLog`] is a log in this process. [`Adversary`] is one that delays, loses, repeats and reorders requests, by a
//! seed. With the feature `nats` there is `JetStream`, the log of NATS servers.

mod app;
mod batch;
mod error;
mod feeder;
mod ingress;
#[cfg(feature = "nats")]
mod jet_stream;
mod log;
mod memory;
mod place;
mod replica;
mod segment;
mod text;
mod worker;

pub use app::{App, Applied, ApplyError, OtherPipeline};
pub use batch::{Batch, BatchError, fingerprint};
pub use error::ReplicaError;
pub use feeder::{FeedError, FeedWait, Feeder};
pub use ingress::{Ingress, cut};
#[cfg(feature = "nats")]
pub use jet_stream::{Access, EdgeState, JetStream, Login, OpenError, Streams, Tls};
pub use log::{Entry, Log, LogError, Record, Sent};
pub use memory::{Adversary, MemoryLog};
pub use place::{Place, PlaceState};
pub use replica::{Edges, Options, Replica, Step, newest_snapshot};
pub use segment::{OnRings, RingsRun, Segment, SegmentError, SegmentRun, SegmentRunner};
pub use text::Text;
pub use worker::{News, Worked, work};
