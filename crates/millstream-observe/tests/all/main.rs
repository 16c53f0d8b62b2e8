//! The integration tests of this crate, in one binary.

#[cfg(feature = "page")]
mod browser;
mod graph;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "page")]
mod page;
#[cfg(feature = "page")]
mod posted;
mod recording;
mod stuck;
