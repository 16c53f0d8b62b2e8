use crate::ProducerPanics;
use std::sync::Arc;

/// A stream from outside the run: from a source's own thread, or from a sender.
pub(crate) trait ExternalSource: Send + Sync {
    /// Called when the run has begun: marks can be laid.
    fn begin(&self) {}

    /// Ends the stream at once.
    fn end(&self);

    /// Takes no further values from outside; those that were accepted still come.
    #[cfg(feature = "queues")]
    fn drain(&self) {
        self.end();
    }

    /// Whether the calling thread is in it.
    #[cfg(feature = "queues")]
    fn is_here(&self) -> bool {
        false
    }

    /// The accepted values; `None` if a tasklet of the run counts them.
    fn accepted(&self) -> Option<Accepted>;

    /// Drops the values left in its ring, once the ring has no readers.
    fn clear(&self) {}

    /// Lays a mark that is due at the next number, unless a tasklet of the run does. Publishes the values that wait
    /// before and behind it, as far as there is room.
    fn lay_mark(&self) {}

    /// The producers that ended by a panic of their threads without ending the run.
    fn panics(&self) -> ProducerPanics {
        ProducerPanics::default()
    }
}

/// How much a source has accepted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Accepted {
    /// The numbers that are published, END's among them.
    pub(crate) published: u64,
    /// The values that wait.
    pub(crate) waiting: u64,
}

/// The stream from outside, as a run holds it.
pub(crate) type StopSource = Arc<dyn ExternalSource>;
