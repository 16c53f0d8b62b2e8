//! Pipelines on the network.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`arrivals`] | values that come from outside, as a source: with or without a journal |
//! | [`once`] | the first answers to requests with ids, so that a repeated request is not done twice |
//! | `http` (feature `http`) | pipelines that answer requests, lines that are posted, and a server with limits |
//! | `tcp` (feature `tcp`) | lines and records as sources, and lines to many readers |
//! | [`broadcast`](fn@broadcast) (both) | values to many readers, none of which stops the pipeline |
//!
//! A request is a number. What comes from many connections is one stream, in the order of arrival; a state in the
//! pipeline needs no lock, and with a journal a replay has the same order.
//!
//! Nothing that an outsider sends can make a process keep more than its limits say: each line, record, body, header and
//! the number of connections has one, and so has the time of each.
//!
//! **Promises, and their tests** (in `tests/all`): nothing that a stranger sends hangs, bloats or deceives a server,
//! and what was accepted is answered (`attacks`, `overload`, `answers`, `tcp`, `sockets`, and `tests/memory.rs`;
//! `src/fuzzed.rs`, fuzzed); a slow reader stops no pipeline (`readers`, `tcp`); with a journal, what was answered is
//! true after a crash, and done once (`cargo xtask chaos serve`); a service that a new process takes over answers every
//! request, whichever process dies (`hand_over`, `cargo xtask chaos serve --change`).

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
#[cfg(feature = "http")]
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
