use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a source ended early, kept for whoever started the run.
///
/// A source is an iterator, and an iterator can only end. Keep a clone of this, run, then [`take`](Failure::take).
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// The error, if there was one; the next call gives nothing.
    #[must_use]
    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn keep(&self, error: io::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}
