use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The error that ended a source early, kept for the code that started the run.
///
/// A source is an iterator, and an iterator cannot return an error. Keep a clone of this, run, then
/// [`take`](Failure::take).
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// Returns the error, if there was one. The next call returns `None`.
    #[must_use]
    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    pub(crate) fn keep(&self, error: io::Error) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}
