//! The one place that names `std::sync`: under `--cfg loom` every atomic, lock and cell is loom's.

#[cfg(loom)]
pub(crate) use loom::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};
#[cfg(not(loom))]
pub(crate) use std::{
    cell::UnsafeCell,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

/// The steps of a waiting thread. Loom has no clock: under loom, a waiting thread lets the others run.
pub(crate) mod pause {
    #[cfg(not(loom))]
    pub(crate) use std::{
        hint::spin_loop as spin,
        thread::{sleep, yield_now},
    };

    #[cfg(loom)]
    pub(crate) use loom::thread::{yield_now, yield_now as spin};

    #[cfg(loom)]
    pub(crate) fn sleep(_: std::time::Duration) {
        yield_now();
    }
}

use std::sync::{PoisonError, TryLockError};

/// Locks, also if a thread panicked while it held the lock: all data under the project's locks is valid at every step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// As [`lock`], if no other thread holds the lock.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}
