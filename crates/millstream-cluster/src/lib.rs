//! The same pipeline on several machines, over a replicated log, so that its output goes on when one of them dies.
//!
//! **The rule: batch k of an output edge is a function of batches 1 to k of its input edge, and batch k can be appended
//! only after batch k - 1.** So a second copy of a segment, a copy that was thought dead, or a repeated append writes
//! the same bytes at the same place, or is refused. Correctness needs no lease, and this crate has no consensus, no
//! replication and no protocol: a [`Log`] has them.
//!
//! A [`Segment`] runs between two edges: a pipeline on rings ([`OnRings`]). A [`Replica`] reads the input edge,
//! computes, compares its batches with those of the output edge, and appends the batches that are missing there. All
//! replicas of a segment compute everything; one of them appends. [`Ingress`] appends batches to the first edge.
//!
//! [`MemoryLog`] is a log in this process. [`Adversary`] is a log that delays, loses, repeats and reorders requests, by
//! a seed. With the feature `nats`, `JetStream` is the log of NATS servers.
//!
//! | module | what it has |
//! | --- | --- |
//! | `log`, `batch` | what a log must do; the slots before one mark, with a header, as one entry of a log |
//! | `replica` | a copy of a segment, its snapshots, and how they are compared |
//! | `memory` | a log in this process, and a network that loses, delays and reorders |
//! | `jet_stream` | the log of NATS servers |
//! | `app`, `place`, `worker` | an application's plan, the places of its replicas, the process that runs them |
//! | `feeder` | text that is appended once |
//!
//! **Promise, and its tests** (in `tests/all`): batches in a log are the model's, whatever happens to messages and
//! replicas (`schedules`, `rings`, `jet_stream`). A replica that differs appends nothing behind batches of another one
//! that it has not compared (`replicas`, `calls`), unless several of its own are on the way when the other one appends.
//!
//! **Words**: a *log* has numbered entries for each edge, and replicates them; a *batch* between machines is one entry;
//! a *segment* runs between two edges of a log, and a *replica* is a copy of it.

mod app;
mod batch;
mod error;
mod feeder;
mod ingress;
#[cfg(feature = "nats")]
mod jet_stream;
mod log;
mod memory;
mod other_pipeline;
mod place;
mod replica;
mod segment;
mod text;
mod worker;

pub use app::{App, Applied, ApplyError};
pub use batch::{Batch, BatchError, fingerprint};
pub use error::ReplicaError;
pub use feeder::{FeedError, FeedWait, Feeder};
pub use ingress::{Ingress, cut};
#[cfg(feature = "nats")]
pub use jet_stream::{Access, EdgeState, JetStream, Login, OpenError, Streams, Tls};
pub use log::{Entry, Log, LogError, Record, Sent};
pub use memory::{Adversary, MemoryLog};
pub use other_pipeline::OtherPipeline;
pub use place::{Place, PlaceState};
pub use replica::{Edges, Options, Replica, Step, newest_snapshot};
pub use segment::{OnRings, RingsRun, Segment, SegmentError, SegmentRun, SegmentRunner};
pub use text::Text;
pub use worker::{News, Worked, work};
