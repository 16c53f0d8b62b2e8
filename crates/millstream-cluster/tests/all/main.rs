//! Replicas of segments on logs, against what the pipeline means.

mod app;
mod batches;
mod deploy;
#[cfg(feature = "nats")]
mod jet_stream;
mod replicas;
mod rings;
mod schedules;
#[cfg(feature = "nats")]
mod server;
mod sums;
mod words;
