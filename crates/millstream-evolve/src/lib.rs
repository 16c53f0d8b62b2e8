//! A population of states that evolve round by round on many workers: the particle filter.
//!
//! [`Evolve`] turns a state into any number of children, each with an output. How long that takes is not known
//! beforehand, so this is not a pipeline: the master deals states out, and redistributes them. States stay on the
//! worker where they were made, and the [`Token`]s that name them travel. [`Population`] deals out the work, moves
//! states from busy workers to idle ones, and recomputes states that are lost with a worker. [`Model`] is the
//! definition, on one thread. Both have the same result, for any number of workers and whatever happens to them, since
//! a child's token is a function of its parent's token and of the child's index, and its random numbers are a function
//! of its token.
//!
//! Master and worker are state machines without sockets, threads and clocks: [`Worker`] is that of a worker. The master
//! has one thread with one `epoll`; a worker has two threads, so that states can be taken from it while it evolves one.
//! Workers are threads of this process ([`Population::add_threads`]), or join over TCP and Unix sockets
//! ([`Population::listen`], [`connect`]), also during a round. Values are encoded by `postcard`. A frame begins with
//! its length, and both sides show that they know a [`Secret`] before anything else is read. Messages are not
//! encrypted.
//!
//! The idea is from an article on particle filters in a cluster, and so is the experience that the master must be one
//! thread that never lags: the time that a worker waits between its answer and its next request limits the number of
//! workers. [`Population::latency`] measures that time.
//!
//! **Promises, and their tests**: a population is its model, whatever happens to messages and workers
//! (`src/simulated/schedules.rs`, `tests/all/sockets.rs`); the master allocates nothing once warm
//! (`tests/allocations.rs`); malformed input from a peer crashes no process (`src/fuzzed.rs`, fuzzed).

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
