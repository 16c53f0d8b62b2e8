//! Pipelines on the network.
//!
//! | module | contents |
//! | --- | --- |
//! | [`arrivals`] | values that arrive from outside, as a source with or without a journal |
//! | [`once`] | the first answers to requests with ids, so that a repeated request is not done twice |
//! | `http` (feature `http`) | pipelines that answer requests, posted lines as a source, and a server with limits |
//! | `tcp` (feature `tcp`) | lines and records as sources, and lines to many readers |
//! | [`broadcast`](fn@broadcast) (both) | values to many readers, which never stop the pipeline |
//!
//! A request has a number. The requests of many connections are one stream, in the order of arrival; a state in the
//! pipeline needs no lock, and with a journal a replay has the same order.
//!
//! No input can make a process keep more than its limits allow: each line, record, body, header and the number of
//! connections has a limit, and each has a time limit.
//!
//! **Promises, and their tests** (in `tests/all`): no input of a stranger hangs, bloats or deceives a server, and
//! accepted requests are answered (`attacks`, `overload`, `answers`, `tcp`, `sockets`, and `tests/memory.rs`;
//! `src/fuzzed.rs`, fuzzed); a slow reader stops no pipeline (`readers`, `tcp`); with a journal, an answered request
//! stays carried out after a crash, once (`cargo xtask chaos serve`); a service that a new process takes over answers
//! every request, whichever process dies (`hand_over`, `cargo xtask chaos serve --change`). Both hold for lines that
//! are posted to a source with a journal (`cargo xtask chaos ingest`).

#![forbid(unsafe_code)]

pub mod arrivals;
#[cfg(any(feature = "http", feature = "tcp"))]
mod broadcast;
#[cfg(any(all(test, feature = "http", feature = "tcp"), feature = "fuzzed"))]
#[doc(hidden)]
pub mod fuzzed;
#[cfg(feature = "http")]
pub mod http;
#[cfg(all(target_os = "linux", any(feature = "http", feature = "tcp")))]
mod inherited;
#[cfg(any(feature = "http", feature = "tcp"))]
mod lingering;
#[cfg(any(feature = "http", feature = "tcp"))]
mod listening;
pub mod once;
#[cfg(any(feature = "http", feature = "tcp"))]
mod open_error;
#[cfg(any(feature = "http", feature = "tcp"))]
mod taking;
#[cfg(feature = "tcp")]
pub mod tcp;
#[cfg(feature = "http")]
mod timed;
mod whole_lines;
mod whole_records;

#[cfg(any(feature = "http", feature = "tcp"))]
pub use broadcast::{Broadcast, Publisher, WhenSlow, broadcast};
#[cfg(all(target_os = "linux", any(feature = "http", feature = "tcp")))]
pub use inherited::inherited;
#[cfg(any(feature = "http", feature = "tcp"))]
pub use open_error::OpenError;
pub use whole_lines::{LineTooLong, WholeLines};
pub use whole_records::{RecordTooLong, WholeRecords};
