use crate::Histogram;
use crate::hub::Hub;
use crate::master::Counts;
use std::time::Duration;

/// A population as it is just now, while a round goes on or between two of them.
#[derive(Clone, Copy)]
pub struct Glance<'a> {
    hub: &'a Hub,
    states: usize,
}

impl std::fmt::Debug for Glance<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Glance").field("evolved", &self.evolved()).field("states", &self.states).finish()
    }
}

impl<'a> Glance<'a> {
    pub(crate) fn new(hub: &'a Hub, states: usize) -> Self {
        Glance { hub, states }
    }

    /// How many states of the round have evolved.
    #[must_use]
    pub fn evolved(&self) -> usize {
        self.states - self.hub.master.left()
    }

    /// Of how many.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states
    }

    /// Of each worker that is there: how long it has worked and waited, as it says, and how many states it has evolved.
    pub fn spent(&self) -> impl Iterator<Item = (usize, Duration, Duration, u64)> + 'a {
        self.hub.master.spent()
    }

    /// What has happened until now.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.hub.master.counts()
    }

    /// How many bytes have gone to workers, and how many have come from them.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        (self.hub.told(), self.hub.heard)
    }

    /// As [`Population::latency`](crate::Population::latency).
    #[must_use]
    pub fn latency(&self) -> &'a Histogram {
        self.hub.master.latency()
    }
}
