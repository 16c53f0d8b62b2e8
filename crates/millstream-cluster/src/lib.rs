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
//!
//! | module | what it has |
//! | --- | --- |
//! | `log`, `batch` | what a log must do; the slots in front of one mark, with a header, as one entry of it |
//! | `replica` | a copy of a segment, its snapshots and how they are compared |
//! | `memory` | a log in this process, and a network that does all that it may |
//! | `jet_stream` | the log of NATS servers |
//! | `app`, `place`, `worker` | an application's plan, the places of its replicas, the process that runs them |
//! | `feeder` | text that is appended once |
//!
//! **Promise, and its tests** (in `tests/all`): batches in a log are the model's, whatever happens to messages and
//! replicas, and a replica that differs appends nothing (`schedules`, `rings`, `replicas`, `jet_stream`).
//!
//! **Words**: a *log* has numbered entries by edge that others replicate; a *batch* between machines is one of them; a
//! *segment* is what runs between two edges of a log, and a *replica* one of its copies.

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
