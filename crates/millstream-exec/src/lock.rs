//! Locks that are tried, and that a panic leaves as they are.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// Takes the lock, unless another thread holds it. It is taken even if a thread has panicked while it held it.
pub(crate) fn try_lock<T>(lock: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match lock.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
