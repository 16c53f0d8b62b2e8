//! The integration tests of this crate, in one binary.
#![cfg(not(loom))]

mod alone;
#[cfg(feature = "queues")]
mod as_the_model;
#[cfg(feature = "queues")]
mod at_end;
mod batches;
mod before_end;
mod before_failures;
mod begin_and_end;
mod borrowed_keys;
mod bounds;
#[cfg(feature = "queues")]
mod boxes;
mod callers;
mod choice;
mod clock;
#[cfg(feature = "queues")]
mod combinators;
mod cuts;
mod dead_letters;
#[cfg(feature = "stream")]
#[cfg(feature = "durable")]
mod durable;
#[cfg(all(feature = "queues", feature = "durable"))]
mod durable_boxes;
mod ends;
mod failures;
mod fan_in;
mod feedback;
mod fold_windows;
#[cfg(feature = "stream")]
mod from_stream;
mod fusion;
mod futures;
#[cfg(feature = "queues")]
mod futures_on_queues;
mod gathered;
mod handed_in;
mod handles;
#[cfg(feature = "queues")]
mod handles_on_queues;
#[cfg(feature = "queues")]
#[cfg(feature = "durable")]
mod increments;
mod joined_channels;
mod keys;
mod latencies;
mod limits;
mod made_sinks;
mod marks;
#[cfg(feature = "queues")]
mod named_sinks;
mod new_clocks;
mod observe;
mod one_by_one;
#[cfg(feature = "queues")]
mod queues;
#[cfg(feature = "queues")]
mod queues_drain;
mod restart;
mod run;
#[cfg(feature = "tower")]
mod same_bytes;
mod service;
mod slow_stages;
mod source_threads;
#[cfg(feature = "queues")]
mod stage_ids;
mod state_bytes;
mod stepped;
mod streams;
mod text;
mod through;
#[cfg(feature = "queues")]
mod timed_sources;
#[cfg(feature = "tokio")]
mod tokio;
mod try_scan;
mod unordered;
mod upgrades;
mod user_code;
mod whole;
mod written_text;
