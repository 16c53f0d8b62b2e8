//! Pipelines on the network.
//!
//! | module | what it has |
//! | --- | --- |
//! | [`arrivals`] | values that come from outside, as a source: with or without a journal |
//! | [`once`] | the first answers to requests with ids, so that a repeated request is not done twice |
//! | `http` (feature `http`) | pipelines that answer requests, lines that are posted, and a server with limits |
//!
//! A request is a number. What comes from many connections is one stream, in the order of arrival; a state in the
//! pipeline needs no lock, and with a journal a replay has the same order.
//!
//! Nothing that an outsider sends can make a process keep more than its limits say: each line, record, body, header and
//! the number of connections has one, and so has the time of each.

#![forbid(unsafe_code)]

pub mod arrivals;
#[cfg(feature = "http")]
pub mod http;
pub mod once;
#[cfg(feature = "http")]
mod timed;
mod whole_lines;

pub use whole_lines::{LineTooLong, WholeLines};
