//! Time as a source: ticks at an interval, and the clock that they go by.
//!
//! A [`Clock`] here tells the time; it has nothing to do with the numbering of an edge, which is called its clock as
//! well. What waits or looks at the time in this crate takes a clock, so that a test can put a [`VirtualClock`] in the
//! place of the [`SystemClock`], and never waits.

mod clock;
mod ticks;

pub(crate) use clock::wait_until;
pub use clock::{Clock, SystemClock, VirtualClock};
pub use ticks::{Ticks, ticks};
