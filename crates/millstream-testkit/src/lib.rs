//! Proves of a pipeline that it gives the same output wherever it runs.
//!
//! Every deployment of a pipeline must give what its model gives, slot by slot, for every ring size, batch size and
//! number of workers. A user proves that of a pipeline of his own in three lines:
//!
//! ```
//! use millstream_core::{Arrow, pipeline};
//! use millstream_testkit::{assert_deterministic, proptest::{collection::vec, prelude::any}};
//!
//! let p = pipeline::<u32>().filter(|x| x % 3 != 0).shard(2, |p| p.map(|x| x.count_ones())).delay(0);
//! assert_deterministic(p, vec(any::<u32>(), 0..50));
//! ```
//!
//! Closures that hide state, read a clock or draw random numbers break the promise, and this is how that comes out: as a
//! panic that says which stages may be the one, the first number that differs, and the smallest input and deployment that
//! show it.
//!
//! ```should_panic
//! use millstream_core::{Arrow, pipeline};
//! use millstream_testkit::{assert_deterministic, proptest::{collection::vec, prelude::any}};
//! use std::sync::atomic::{AtomicU64, Ordering};
//!
//! let calls = AtomicU64::new(0);
//! let p = pipeline::<u32>().map(move |_| calls.fetch_add(1, Ordering::Relaxed)).named("count");
//! // stage "count": number 0 holds Some(9), and in the model Some(8)
//! //   input, the smallest found: [0]
//! //   deployment: ring 1, batch 1, workers 1, Inline
//! assert_deterministic(p, vec(any::<u32>(), 1..50));
//! ```
//!
//! A pipeline whose values are `Clone` runs on queues as well: [`assert_deterministic_everywhere`].
//!
//! [`Determinacy`] says more: pipelines that are built for a number of shards, and the edges inside a pipeline, by which
//! the stage is found that differs first.
//!
//! `random` (a feature, on unless it is switched off) has pipelines that nobody wrote: syntax trees that print and shrink,
//! to prove a deployment with. [`programs`] says of a program that a test runs whether it is there.

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
