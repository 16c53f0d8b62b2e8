//! Where a job's values go: a [`Sink`], which may fail, may gather what it gets, and returns what the run returns.
//!
//! Most jobs need not name one: [`collect`](crate::Runner::collect), [`last`](crate::Runner::last) and
//! [`for_each`](crate::Runner::for_each) have a sink of their own, and [`to_fold`](crate::Job::to_fold) and
//! [`to_each`](crate::Job::to_each) make one from a closure.

mod again;
mod closure;
mod collecting;
mod output;
mod pauses;

pub use again::{EachRun, again};
pub use closure::{Each, Fold, OnPause, each, fold};
pub use collecting::{Collect, CollectSlots, Last, collect, collect_slots, last};
pub use millstream_core::{Sink, SinkResult};
pub use output::{Output, WithOutput, with_output};
pub(crate) use pauses::SinkPauses;
