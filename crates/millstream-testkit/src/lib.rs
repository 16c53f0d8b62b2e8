//! Tests that a pipeline has the same output on every deployment.
//!
//! Every deployment of a pipeline must have its model's output, slot by slot, for every ring size, batch size and
//! number of workers. Three lines test that for a pipeline of yours, on random inputs:
//!
//! ```
//! use millstream::prelude::*;
//! use millstream::testkit::{assert_deterministic, proptest::{collection::vec, prelude::any}};
//!
//! let p = pipeline::<u32>()
//!     .filter(|x| x % 3 != 0)
//!     .shard(2, |p| p.map(|x| x.count_ones()))
//!     .delay(0);
//! assert_deterministic(p, vec(any::<u32>(), 0..50));
//! ```
//!
//! Closures that hide state, read a clock or draw random numbers break this promise. The test then panics, with the
//! stages that may be the cause, the first number that differs, and the smallest input and deployment that show it.
//!
//! ```should_panic
//! use millstream::prelude::*;
//! use millstream::testkit::{assert_deterministic, proptest::{collection::vec, prelude::any}};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let calls = AtomicU64::new(0);
//! let p = pipeline::<u32>()
//!     .map(move |_| calls.fetch_add(1, Ordering::Relaxed))
//!     .named("count");
//! // stage "count": number 0 holds Some(9), but Some(8) in the model
//! //   input, the smallest found: [0]
//! //   deployment: ring 1, batch 1, workers 1, Inline
//! assert_deterministic(p, vec(any::<u32>(), 1..50));
//! ```
//!
//! A pipeline whose values are `Clone` also runs on queues: [`assert_deterministic_everywhere`].
//!
//! [`Determinacy`] has more options: pipelines that are built for a number of shards, and edges inside a pipeline,
//! which locate the first stage that differs.
//!
//! `random` (a default feature) has random pipelines to test a deployment with: syntax trees that print and shrink.
//! [`programs`] checks whether a program that a test needs is installed.

mod check;
#[cfg_attr(not(feature = "random"), allow(dead_code, reason = "random pipelines use all of it"))]
mod deployment;
mod determinacy;
mod pace;
pub mod programs;
#[cfg(feature = "random")]
pub mod random;
mod sabotage;
mod watchdog;
#[cfg_attr(not(feature = "random"), allow(dead_code, reason = "random pipelines use all of it"))]
mod way;

pub use check::{Checkable, CheckableEverywhere, Difference, check};
pub use deployment::{Deployment, Feeding, deployments};
pub use determinacy::{Determinacy, assert_deterministic, assert_deterministic_everywhere};
pub use pace::at_some_pace;
pub use proptest;
pub use sabotage::{Call, SABOTAGE, Sabotaged, Saboteur};
pub use watchdog::{Hung, within};
pub use way::QueueFeeding;
