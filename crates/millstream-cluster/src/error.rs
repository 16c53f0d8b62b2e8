//! Why a replica stops.

use crate::{BatchError, LogError, OtherPipeline, SegmentError};

/// Why a [`Replica`](crate::Replica) stops. It appends nothing any more.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReplicaError {
    /// The output edge has other bytes than this replica computed.
    #[error(
        "edge {edge:?}, batch {number}: the edge has other bytes (hash {theirs:016x}) than this replica computed \
         (hash {ours:016x}), so it stops appending. A stage depends on something other than its input, or the \
         programs of the replicas differ"
    )]
    Diverged {
        /// The output edge.
        edge: String,
        /// The number of the batch.
        number: u64,
        /// The hash of what this replica computed.
        ours: u64,
        /// The hash of what the edge has.
        theirs: u64,
    },
    /// The edge has no batch of the expected kind at a number.
    #[error("edge {edge:?}, batch {number}: {cause}")]
    Batch {
        /// The edge.
        edge: String,
        /// The number of the batch.
        number: u64,
        /// What is wrong with it.
        cause: BatchError,
    },
    /// The input edge lacks batches that no snapshot covers.
    #[error("edge {edge:?}: batch {number} is trimmed, and no snapshot covers it")]
    Trimmed {
        /// The input edge.
        edge: String,
        /// The number of the first batch that is needed.
        number: u64,
    },
    /// An edge has lost batches: its servers had acknowledged them, and had not stored them for good.
    #[error(
        "edge {edge:?} ends with batch {last}, and had batch {known}: its servers have lost the batches between, as \
         servers do that do not sync (`sync_interval: always`) when they lose power"
    )]
    Lost {
        /// The edge.
        edge: String,
        /// The number of its last batch.
        last: u64,
        /// The number of the last batch that was in it.
        known: u64,
    },
    /// The record of the snapshots cannot be read: it is of another format.
    #[error("the record of the snapshots, {key:?}, cannot be used: {why}")]
    Manifest {
        /// The record's key.
        key: String,
        /// What is wrong with it.
        why: String,
    },
    /// The snapshot that the record names cannot be used.
    #[error("the newest snapshot cannot be used: {0}")]
    Snapshot(String),
    /// The application was removed since the worker began; another one may have its name now.
    #[error("the application was removed while this worker ran for it: one that has its name now is another one")]
    Removed,
    /// The application runs a different pipeline than the worker.
    #[error(transparent)]
    Other(#[from] OtherPipeline),
    /// The segment failed.
    #[error(transparent)]
    Segment(#[from] SegmentError),
    /// The log refuses for good.
    #[error(transparent)]
    Log(LogError),
}
