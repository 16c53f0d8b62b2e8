use std::sync::atomic::{AtomicU64, Ordering};

/// What a listener has done, in numbers that only grow, and how many connections are open.
#[derive(Debug, Default)]
pub struct ListenerCounters {
    pub(super) connections: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) taken: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) broken_off: AtomicU64,
}

impl ListenerCounters {
    /// The connections that were accepted.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// The connections that are open.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// The lines or records that were taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The connections that were closed since they had no token, or since a line or record was too long.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The lines or records that were left out, since their connection ended in the middle of them.
    #[must_use]
    pub fn broken_off(&self) -> u64 {
        self.broken_off.load(Ordering::Relaxed)
    }
}

/// A connection that is counted as open while this lives.
pub(super) struct Opened<'c>(&'c ListenerCounters);

impl<'c> Opened<'c> {
    pub(super) fn on(counters: &'c ListenerCounters) -> Self {
        counters.connections.fetch_add(1, Ordering::Relaxed);
        counters.open.fetch_add(1, Ordering::Relaxed);
        Opened(counters)
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
