//! The lock of a journal, and the wait for one whose directory another process has released.

use super::JournalError;
use crate::disk::{self, Disk, DiskLock, LockError};
use std::path::Path;
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

pub(super) fn lock(disk: &dyn Disk, dir: &Path) -> Result<Box<dyn DiskLock>, JournalError> {
    let path = dir.join("lock");
    disk.lock(&path, &disk::holder()).map_err(|error| match error {
        LockError::Held(holder) => JournalError::InUse { path: dir.to_owned(), holder },
        LockError::Io(error) => JournalError::io("lock", &path)(error),
    })
}
