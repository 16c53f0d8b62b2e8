//! Proves of a pipeline that it gives the same output wherever it runs.
//!
//! Every deployment of a pipeline must give what its model gives, slot by slot, for every ring size, batch size and
//! number of workers. A user proves that of a pipeline of his own in three lines:
//!
//! ```
//! use millstream_core::{Arrow, pipeline};
//! use proptest::{collection::vec, prelude::any};
//!
//! let p = pipeline::<u32>().filter(|x| x % 3 != 0).shard(2, |p| p.map(|x| x.count_ones())).delay(0);
//! millstream_testkit::assert_deterministic(p, vec(any::<u32>(), 0..50));
//! ```
//!
//! Closures that hide state, read a clock or draw random numbers break the promise, and this is how that comes out:
//!
//! ```should_panic
//! use millstream_core::{Arrow, pipeline};
//! use proptest::{collection::vec, prelude::any};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let calls = AtomicU64::new(0);
//! let p = pipeline::<u32>().map(move |_| calls.fetch_add(1, Ordering::Relaxed));
//! millstream_testkit::assert_deterministic(p, vec(any::<u32>(), 1..50));
//! ```
//!
//! [`random`] has pipelines that nobody wrote: syntax trees that print and shrink, to prove a deployment with.

mod check;
mod deployment;
pub mod random;
mod watchdog;

pub use check::{Checkable, Difference, assert_deterministic, check};
pub use deployment::{Deployment, Feeding, deployments};
pub use watchdog::{Hung, within};
