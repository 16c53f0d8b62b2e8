//! The surroundings of a run's futures: a tokio runtime with the feature `tokio`, and otherwise nothing.
//!
//! The runtime is the one in which the run was started, if that has more than one worker. Otherwise the run has its
//! own: a caller that waits for the run would block a runtime of one thread.

#[cfg(feature = "tokio")]
mod tokio_runtime;

#[cfg(feature = "tokio")]
pub(crate) use tokio_runtime::Reactor;

/// Nothing: futures wake by themselves.
#[cfg(not(feature = "tokio"))]
#[derive(Debug)]
pub(crate) struct Reactor;

#[cfg(not(feature = "tokio"))]
impl Reactor {
    pub(crate) fn here() -> Self {
        Reactor
    }

    pub(crate) fn enter(&self) -> Entered {
        Entered
    }
}

/// Held while futures are polled.
#[cfg(not(feature = "tokio"))]
pub(crate) struct Entered;
