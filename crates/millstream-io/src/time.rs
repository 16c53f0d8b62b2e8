//! Time as a source: ticks at an interval, and the clock that they go by.
//!
//! A [`Clock`] here returns the time; it is unrelated to the numbering of an edge, which is called its clock too. Code
//! of this crate that waits or reads the time takes a clock, so that a test can use a [`VirtualClock`] instead of the
//! [`SystemClock`], and never waits.

mod clock;
mod ticks;

pub(crate) use clock::wait_until;
pub use clock::{Clock, SystemClock, VirtualClock};
pub use ticks::{Ticks, ticks};
