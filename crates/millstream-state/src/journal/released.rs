//! The wait for a journal whose directory another process has released.

use super::JournalError;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A process that has released the directory releases its journals within this time: one of its threads may not have
/// ended yet.
const WITHIN: Duration = Duration::from_secs(5);

/// The time between two attempts.
const AGAIN: Duration = Duration::from_millis(1);

/// Opens such a journal, as soon as it is no longer in use.
pub(crate) fn once_released<T>(mut open: impl FnMut() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let since = Instant::now();
    loop {
        match open() {
            Err(JournalError::InUse { .. }) if since.elapsed() < WITHIN => sleep(AGAIN),
            opened => return opened,
        }
    }
}
