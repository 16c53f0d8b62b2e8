use std::sync::atomic::{AtomicU64, Ordering};

/// A count on cache lines of its own, which other threads read while it changes.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn set(&self, count: u64) {
        self.0.store(count, Ordering::Release);
    }

    pub(crate) fn add(&self, more: usize) {
        self.0.fetch_add(more as u64, Ordering::Release);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}
