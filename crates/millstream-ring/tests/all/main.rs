//! The integration tests of this crate, in one binary. Miri runs some of them.
#![cfg(not(loom))]

mod bypass;
#[cfg(not(miri))]
mod edges;
#[cfg(not(miri))]
mod group;
#[cfg(not(miri))]
mod marks;
mod miri;
mod occupancy;
#[cfg(not(miri))]
mod oracle;
#[cfg(not(miri))]
mod parts;
#[cfg(not(miri))]
mod probe;
#[cfg(not(miri))]
mod ring;
mod sheet;
mod support;
mod text;
#[cfg(not(miri))]
mod wait;
