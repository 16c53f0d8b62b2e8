use crate::time::Clock;
use std::fs::File;
use std::io::{ErrorKind, Result};
use std::time::Duration;

/// When the written bytes are made to survive a crash of the machine, by `fdatasync`. A sync takes milliseconds on many
/// disks.
///
/// All policies but `Never` also sync when a file is finished or rotated away, and then the directory too. The time and
/// the bytes are checked at a write: without a write there is no sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncPolicy {
    /// Never. The operating system decides.
    Never,
    /// When the file is finished, or rotated away.
    #[default]
    AtEnd,
    /// Also once this many bytes were written since the last sync.
    EveryBytes(u64),
    /// Also at the first write that comes this time after the last sync.
    Every(Duration),
}

/// A policy, and the time and bytes since the last sync.
#[derive(Debug)]
pub(super) struct Syncing<C> {
    policy: SyncPolicy,
    /// The bytes that were written since.
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

    /// Whether a sync is due, with this many bytes in the buffer.
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
            // A pipe or a device cannot be synced, and returns EINVAL.
            Err(error) if error.kind() == ErrorKind::InvalidInput => {}
            synced => synced?,
        }
        (self.bytes, self.at) = (0, self.clock.now());
        Ok(())
    }
}
