use crate::time::Clock;
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::time::Duration;

/// When what was written is made to outlast the machine, by `fdatasync`. A sync takes milliseconds on many disks.
///
/// All but `Never` also sync when a file is finished or rotated away, and then the directory as well. The others look at a
/// write: with no write there is no sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Never: that is up to the operating system.
    Never,
    /// When the file is finished, or rotated away.
    #[default]
    AtEnd,
    /// Also when so many bytes have been written since the last time.
    EveryBytes(u64),
    /// Also when so much time has gone by since the last time.
    Every(Duration),
}

/// A policy, and how long ago the last sync was.
#[derive(Debug)]
pub(super) struct Syncing<C> {
    policy: SyncPolicy,
    /// Written since.
    bytes: u64,
    at: Duration,
    clock: C,
}

impl<C: Clock> Syncing<C> {
    pub(super) fn new(policy: SyncPolicy, clock: C) -> Self {
        Syncing { policy, bytes: 0, at: clock.now(), clock }
    }

    pub(super) fn written(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    /// Whether it is time, with so many bytes not yet written.
    pub(super) fn due(&self, buffered: usize) -> bool {
        match self.policy {
            SyncPolicy::Never | SyncPolicy::AtEnd => false,
            SyncPolicy::EveryBytes(most) => self.bytes + buffered as u64 >= most,
            SyncPolicy::Every(interval) => self.clock.now().saturating_sub(self.at) >= interval,
        }
    }

    pub(super) fn at_end(&self) -> bool {
        self.policy != SyncPolicy::Never
    }

    pub(super) fn sync(&mut self, file: &File) -> Result<()> {
        match file.sync_data() {
            // A pipe or a device has nothing to be synced, and says so with EINVAL.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            synced => synced?,
        }
        (self.bytes, self.at) = (0, self.clock.now());
        Ok(())
    }
}
