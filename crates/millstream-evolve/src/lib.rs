//! A population of states that evolve round by round on many workers: the particle filter.
//!
//! A state becomes any number of children, each with an output, by [`Evolve`]; how long that takes nobody knows before.
//! States stay on the worker where they were made, and are named by [`Token`]s, which travel. [`Population`] deals out the
//! work, lets idle workers have states of busy ones, and computes again what is lost with a worker. [`Model`] is what all
//! that means: a `zip_with` on one thread. The two give the same result, for any number of workers and whatever happens
//! to them, since a child's token is a function of its parent's token and of its index, and its random numbers of its
//! token.
//!
//! Master and worker are state machines without sockets, threads and clocks: [`Worker`] is one of them. Around the master
//! is one thread with one `epoll`; around a worker are two threads, so that it can give states away while it evolves one.
//! Workers are threads of this process ([`Population::add_threads`]) or come over TCP and Unix sockets
//! ([`Population::listen`], [`connect`]), when the round has begun as well. Bytes are encoded by `postcard`, frames have
//! their length in front, and both sides show that they know a [`Secret`] before anything else is read. What is sent is
//! not encrypted.
//!
//! The idea, and the experience that the master must be one thread that is never behind, is from an article on particle
//! filters in a cluster: a worker's wait from its answer to its next request is what limits how many workers there can
//! be. [`Population::latency`] measures it.

mod address;
mod checkpoint;
mod error;
mod evolve;
#[cfg(any(test, feature = "fuzzed"))]
pub mod fuzzed;
mod glance;
mod hello;
mod histogram;
mod hub;
#[cfg(feature = "locked")]
mod locked;
mod master;
mod message;
mod model;
mod panics;
pub mod particles;
mod population;
mod received;
mod serve;
#[cfg(test)]
mod simulated;
mod threads;
mod token;
mod wire;
mod worker;

pub use address::Address;
pub use checkpoint::{Checkpoint, Lock};
pub use error::{EvolveError, Violation};
pub use evolve::{Children, Evolve, EvolveMany};
pub use glance::Glance;
pub use hello::Secret;
pub use histogram::Histogram;
#[cfg(feature = "locked")]
pub use locked::Locked;
pub use master::{Batch, Counts, Tuning};
pub use model::Model;
pub use population::{Options, Population, Watch};
pub use serve::{Accepted, ServeError, connect, connect_within};
pub use token::{Random, Token};
pub use worker::{Job, Worker};
