//! Replicas of segments on logs, against what the pipeline means.

mod app;
mod batches;
mod calls;
#[cfg(feature = "nats")]
mod certificates;
mod deploy;
#[cfg(feature = "nats")]
mod documented;
#[cfg(feature = "nats")]
mod encrypted;
mod feeders;
#[cfg(feature = "nats")]
mod jet_stream;
mod line;
mod membership;
#[cfg(feature = "nats")]
mod partition;
#[cfg(feature = "nats")]
mod permissions;
#[cfg(feature = "nats")]
mod readers;
mod removed;
mod replicas;
mod reports;
mod rings;
mod schedules;
#[cfg(feature = "nats")]
mod server;
mod sums;
mod until;
mod words;
