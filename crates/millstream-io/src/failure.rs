use millstream_core::failure::fail;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

/// The error that ended a source early, kept for the code that started the run.
///
/// An error of a reader fails the run: an input that was read in part must not pass for the whole. As long as the code
/// that started the run holds this, the run ends as if the input had ended, and that code [takes](Failure::take) the
/// error.
#[derive(Clone, Debug, Default)]
pub struct Failure(Arc<Mutex<Option<io::Error>>>);

impl Failure {
    /// Returns the error, if there was one. The next call returns `None`.
    #[must_use]
    pub fn take(&self) -> Option<io::Error> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps the error for those who hold a clone. If there are none, it unwinds, and the run fails with the error.
    pub(crate) fn keep(&self, error: io::Error) {
        if Arc::strong_count(&self.0) == 1 {
            fail(error);
        }
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }
}
