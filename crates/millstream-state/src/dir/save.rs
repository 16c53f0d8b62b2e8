//! Writing a snapshot.

use super::StateDir;
use super::identity::{self, Identity, SNAPSHOTS};
use crate::disk::Disk;
use crate::manifest::{self, Manifest};
use crate::saved::Prepared;
use crate::{Saved, StateError};
use std::path::Path;
use std::sync::{MutexGuard, PoisonError};

/// The state of the writer of snapshots.
#[derive(Debug)]
pub(super) struct Saving {
    /// The id of the next one.
    next: u64,
    /// Why it is unknown which names in the directory are durable.
    failed: Option<String>,
}

impl Saving {
    pub(super) fn begin(disk: &dyn Disk, dir: &Path) -> Result<Self, StateError> {
        let below = dir.join(SNAPSHOTS);
        let names = disk.list(&below).map_err(StateError::io("list", &below))?;
        let ids = names.iter().filter_map(|name| manifest::parse_name(name));
        Ok(Saving { next: ids.map(|(id, _)| id.saturating_add(1)).max().unwrap_or(1), failed: None })
    }
}

impl StateDir {
    /// Writes a snapshot, and returns when it is durable. It writes one file under another name, syncs it, renames it
    /// and syncs the directory. Ids are given in order, from 1. Snapshots that are there stay as they are.
    ///
    /// If it fails, there is no new snapshot. If the process ends before it returns, there is none or a whole one.
    /// Older snapshots stay as they are. After a full disk it may be called again. It copies no part, and waits for
    /// other calls.
    ///
    /// ```
    /// use millstream::state::{Saved, StateDir};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let dir = StateDir::open(&path, "orders")?;
    /// let states = [("total", &[42, 0, 0, 0][..])];
    /// let manifest = dir.save(&Saved { at: 1000, fingerprint: "f00d", parts: &states, ..Saved::default() })?;
    /// assert_eq!((manifest.id, manifest.at, manifest.bytes()), (1, 1000, 4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the system refuses an operation, two parts have one name, the base is not in the directory, a process of a
    /// later epoch has the directory, or this one was opened to be read. After a failed sync of the directory each
    /// later call fails ([`StateError::Poisoned`]): open it again, in a new process.
    pub fn save(&self, snapshot: &Saved<'_>) -> Result<Manifest, StateError> {
        if let Some(store) = &self.elsewhere {
            return store.save(snapshot);
        }
        let mut saving = self.writing()?;
        let number = (saving.next, self.epoch());
        let made = snapshot.prepare(self.program(), number, self.disk.now_unix_ms());
        let refused = |why| StateError::Refused { path: self.path.clone(), why };
        let Prepared { manifest, mut parts, sealed } = made.map_err(refused)?;
        let names = if snapshot.base.is_some() { self.names()? } else { Vec::new() };
        if let Some(missing) = manifest.needs().find(|file| !names.iter().any(|name| name == file)) {
            return Err(refused(format!("its base needs {missing}, which is missing")));
        }
        let path = self.snapshots_dir().join(manifest.file());
        parts.push(&sealed);
        identity::write_beside(&*self.disk, &path, &parts)?;
        self.still_ours()?;
        identity::finish(&*self.disk, &path)?;
        self.sync_snapshots(&mut saving).inspect_err(|_| {
            // The snapshot may be lost at any time, so a later process must not begin with it.
            drop(self.disk.remove(&path));
        })?;
        saving.next = manifest.id + 1;
        Ok(manifest)
    }

    /// The right to change the directory, for one thread at a time.
    pub(super) fn writing(&self) -> Result<MutexGuard<'_, Saving>, StateError> {
        let Some(saving) = &self.saving else { return Err(StateError::ReadOnly { path: self.path.clone() }) };
        let saving = saving.lock().unwrap_or_else(PoisonError::into_inner);
        match &saving.failed {
            None => Ok(saving),
            Some(why) => Err(StateError::Poisoned { path: self.path.clone(), why: why.clone() }),
        }
    }

    /// Makes the names of the snapshots durable.
    pub(super) fn sync_snapshots(&self, saving: &mut Saving) -> Result<(), StateError> {
        let below = self.snapshots_dir();
        let synced = self.disk.sync_dir(&below).map_err(StateError::io("sync", &below));
        synced.inspect_err(|error| saving.failed = Some(error.to_string()))
    }

    /// A lock that was lost without notice, as on a network's file system, does not let this process go on.
    fn still_ours(&self) -> Result<(), StateError> {
        let theirs = Identity::read(&*self.disk, &self.path)?.epoch;
        let ours = self.epoch();
        if theirs == ours { Ok(()) } else { Err(StateError::Superseded { path: self.path.clone(), theirs, ours }) }
    }
}
