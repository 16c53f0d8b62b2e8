use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a listener: totals that only grow, and the number of open connections.
#[derive(Debug, Default)]
pub struct ListenerCounters {
    pub(super) connections: AtomicU64,
    pub(super) open: AtomicU64,
    pub(super) taken: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) broken_off: AtomicU64,
}

impl ListenerCounters {
    /// The number of accepted connections.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// The number of open connections.
    #[must_use]
    pub fn open(&self) -> u64 {
        self.open.load(Ordering::Relaxed)
    }

    /// The number of taken lines or records.
    #[must_use]
    pub fn taken(&self) -> u64 {
        self.taken.load(Ordering::Relaxed)
    }

    /// The number of connections that were closed because they had no token, or a line or record was too long.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    /// The number of lines or records that were left out because their connection ended within them.
    #[must_use]
    pub fn broken_off(&self) -> u64 {
        self.broken_off.load(Ordering::Relaxed)
    }
}

/// Counts a connection as open while this exists.
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
