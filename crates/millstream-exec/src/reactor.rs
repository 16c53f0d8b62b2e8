//! What the futures of a run find around them.

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

/// Lasts as long as futures are polled.
#[cfg(not(feature = "tokio"))]
pub(crate) struct Entered;
