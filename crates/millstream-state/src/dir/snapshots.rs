//! The snapshots of a directory: listing, loading, removing.

use super::identity::UNFINISHED;
use super::{Retention, StateDir};
use crate::StateError;
use crate::disk::OpenMode;
use crate::manifest::{self, Manifest, Part};
use std::io;
use std::path::PathBuf;

/// An entry in the list of snapshots.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotEntry {
    /// A snapshot with a manifest that is whole. Its parts have the right length; their hashes are checked by
    /// [`StateDir::load`].
    Whole(Manifest),
    /// A file that cannot be used.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        why: StateError,
    },
}

impl SnapshotEntry {
    /// The manifest, if it is whole.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        match self {
            SnapshotEntry::Whole(manifest) => Some(manifest),
            SnapshotEntry::Unreadable { .. } => None,
        }
    }
}

impl StateDir {
    /// The snapshots, oldest first, and the files there that are none or are damaged, each with the reason. It reads
    /// the manifests and no part.
    ///
    /// ```
    /// use millstream::state::{Saved, SnapshotEntry, StateDir};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let dir = StateDir::open(&path, "orders")?;
    /// dir.save(&Saved { at: 1000, ..Saved::default() })?;
    /// let second = dir.save(&Saved { at: 2000, ..Saved::default() })?;
    /// std::fs::write(path.join("snapshots").join(second.file()), "overwritten by mistake, by some other program")?;
    /// let list = dir.snapshots()?;
    /// assert_eq!(list[0].manifest().map(|first| first.at), Some(1000));
    /// let SnapshotEntry::Unreadable { why, .. } = &list[1] else { unreachable!() };
    /// assert!(why.to_string().contains("0000000002-1.snapshot is damaged"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the directory cannot be listed.
    pub fn snapshots(&self) -> Result<Vec<SnapshotEntry>, StateError> {
        let below = self.snapshots_dir();
        let names = self.disk.list(&below).map_err(StateError::io("list", &below))?;
        let mut found = Vec::new();
        for name in names.into_iter().filter(|name| !name.ends_with(UNFINISHED)) {
            let path = below.join(&name);
            let Some((id, epoch)) = manifest::parse_name(&name) else {
                let why = StateError::damaged(&path, "it has no snapshot's name");
                found.push(((0, 0), SnapshotEntry::Unreadable { path, why }));
                continue;
            };
            let mut file = match self.disk.open(&path, OpenMode::Read) {
                // Another process has removed it since the list was made.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let why = StateError::io("open", &path)(error);
                    found.push(((epoch, id), SnapshotEntry::Unreadable { path, why }));
                    continue;
                }
                Ok(file) => file,
            };
            let entry = match manifest::read(&mut *file, &path) {
                Ok((manifest, _)) => SnapshotEntry::Whole(manifest),
                Err(why) => SnapshotEntry::Unreadable { path, why },
            };
            found.push(((epoch, id), entry));
        }
        // What a process wrote that was taken for dead is older than what its successor wrote, whatever the ids.
        found.sort_by_key(|(order, _)| *order);
        Ok(found.into_iter().map(|(_, entry)| entry).collect())
    }

    /// The newest snapshot whose manifest is whole; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`snapshots`](StateDir::snapshots).
    pub fn newest(&self) -> Result<Option<Manifest>, StateError> {
        Ok(self.whole()?.pop())
    }

    fn whole(&self) -> Result<Vec<Manifest>, StateError> {
        let whole = |entry| match entry {
            SnapshotEntry::Whole(manifest) => Some(manifest),
            SnapshotEntry::Unreadable { .. } => None,
        };
        Ok(self.snapshots()?.into_iter().filter_map(whole).collect())
    }

    /// The parts of a snapshot, in the order in which they were saved, each checked against its length and its hash.
    /// They take as much memory as they have bytes.
    ///
    /// # Errors
    ///
    /// If the snapshot is not as it was saved, was removed, or the system refuses.
    pub fn load(&self, manifest: &Manifest) -> Result<Vec<Part>, StateError> {
        let (path, mut parts) = (self.snapshots_dir().join(manifest.file()), Vec::new());
        manifest::read_parts(&*self.disk, &path, manifest, |part| parts.push(part))?;
        Ok(parts)
    }

    /// As [`load`](StateDir::load), and keeps nothing: it takes the memory of the largest part.
    ///
    /// # Errors
    ///
    /// As [`load`](StateDir::load).
    pub fn verify(&self, manifest: &Manifest) -> Result<(), StateError> {
        let path = self.snapshots_dir().join(manifest.file());
        manifest::read_parts(&*self.disk, &path, manifest, drop)
    }

    /// Removes the snapshots that do not [stay](Retention), oldest first, and returns them. Files that cannot be read
    /// stay.
    ///
    /// # Errors
    ///
    /// If the system refuses, or the directory was opened to be read. Some may be removed then.
    pub fn prune(&self, keep: Retention) -> Result<Vec<Manifest>, StateError> {
        let mut saving = self.writing()?;
        let mut whole = self.whole()?;
        whole.truncate(keep.removes(&whole, self.disk.now_unix_ms()));
        for manifest in &whole {
            let path = self.snapshots_dir().join(manifest.file());
            self.disk.remove(&path).map_err(StateError::io("remove", &path))?;
        }
        if !whole.is_empty() {
            self.sync_snapshots(&mut saving)?;
        }
        Ok(whole)
    }
}
