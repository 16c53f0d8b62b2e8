//! Replicas of segments on logs, against what the pipeline means.

#[cfg(feature = "nats")]
mod jet_stream;
mod replicas;
mod rings;
mod schedules;
mod sums;
