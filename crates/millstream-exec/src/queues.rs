//! Queues, the baseline: one thread per stage, a bounded crossbeam channel between two, and nothing batched.
//!
//! The rings are compared with this deployment, so it is built fairly, and tested as rings are. An edge is the receiver
//! of owned, numbered slots; END is a message. Where edges fork or join, helper threads do what rings do by reading:
//!
//! - a fan-out has a thread that copies and one that zips, `both` one that splits and one that zips;
//! - a choice has a router, a queue of tags, and a collector;
//! - a lens has a thread that clones its part, `tee` one that drops the output of the body;
//! - `shard(k, body)` deploys k copies of the body, between a thread that deals numbers in turn and one that gathers
//!   them.
//!
//! Values must be `Clone`. The shapes ask for that (`On<Queues>`), and no combinator does.
//!
//! A failure is recorded before its thread drops its channels, and a reader whose channel is gone looks for a failure
//! first. So no reader takes a failure for END. Any capacity of at least 1 works, for the reason that it does on rings:
//! each reader takes the least number that is not done, and what it needs was sent before everything that follows. One
//! kind of channel has no bound: see `queues/keyed.rs`.

mod control;
mod copy;
mod deploy;
mod handle;
mod keyed;
mod message;
mod pauses;
mod queue_shape;
mod route;
mod sink;
mod source;
mod stage;
mod start;
mod swap;
mod wiring;

pub use handle::QueuesHandle;
pub use message::Queue;
pub use queue_shape::{LendItem, QueueShape};
pub use wiring::QueuesWiring;

use crate::rings::DEFAULT_SLOTS;

/// The deployment on bounded queues, as built by hand from threads and channels.
///
/// Every stage has a thread, and a bounded queue before it. Further threads are needed where an edge forks or joins:
///
/// - a fan-out has one that copies every value and one that joins the results;
/// - `both` has one that splits and one that joins;
/// - a choice has a router, a queue of tags that records the order, and a collector;
/// - `shard(k, body)` deploys its body k times, with one thread that distributes the numbers in turn and one that
///   gathers them in turn;
/// - a lens, such as `firsts`, has one that clones the part.
///
/// Values must be `Clone` for this deployment; the pipeline itself does not require that ([`QueueShape`]).
///
/// The output is the model's, number by number, as on [`Rings`](crate::Rings).
///
/// ```
/// use millstream::prelude::*;
/// let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x % 2 == 0));
/// assert_eq!(Queues::new().collect((&p).from(1..=5))?, p.model(1..=5));
/// # Ok::<(), RunError>(())
/// ```
///
/// Memory: every queue allocates its slots at the start; the source's queue has no more slots than [its
/// ring](crate::source::few) would have. The design is that of the first parallel deployment in S. A. Nielsen's
/// "Parallel stream processing with zero-copy fan-out and sharding", whose queues are `TBQueue`s of 65536 slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Queues {
    pub(crate) slots: usize,
}

impl Default for Queues {
    fn default() -> Self {
        Self::new()
    }
}

impl Queues {
    /// Queues of 4096 slots, the default of rings.
    #[must_use]
    pub fn new() -> Self {
        Queues { slots: DEFAULT_SLOTS }
    }

    /// Sets the slots of every queue: at least 1.
    #[must_use]
    pub fn capacity(mut self, slots: usize) -> Self {
        self.slots = slots;
        self
    }
}
