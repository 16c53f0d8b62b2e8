use crate::Histogram;
use crate::hub::Hub;
use crate::master::Counts;
use std::time::Duration;

/// A snapshot of a population, during a round or between two rounds.
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

    /// The number of states of the round that have evolved; 0 between two rounds.
    #[must_use]
    pub fn evolved(&self) -> usize {
        // A round that has failed leaves some that have not.
        self.states.saturating_sub(self.hub.master.left())
    }

    /// The number of states of the round; 0 between two rounds.
    #[must_use]
    pub fn states(&self) -> usize {
        self.states
    }

    /// For each worker: its index, the time that it reports to have worked and waited, and the number of states that it
    /// has evolved.
    pub fn spent(&self) -> impl Iterator<Item = (usize, Duration, Duration, u64)> + 'a {
        self.hub.master.spent()
    }

    /// What has happened since the population began.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.hub.master.counts()
    }

    /// The bytes sent to workers, and the bytes received from them.
    #[must_use]
    pub fn traffic(&self) -> (u64, u64) {
        (self.hub.bytes_sent(), self.hub.bytes_received)
    }

    /// As [`Population::latency`](crate::Population::latency).
    #[must_use]
    pub fn latency(&self) -> &'a Histogram {
        self.hub.master.latency()
    }
}
