//! The snapshots of a directory: listing, loading, removing.

use super::StateDir;
use super::identity::UNFINISHED;
use super::save::Saving;
use crate::disk::OpenMode;
use crate::entry::{self, SnapshotEntry};
use crate::manifest::{self, Manifest, Part};
use crate::{Retention, StateError};
use std::path::Path;

/// How often the snapshots are listed if all are removed before they are read.
const MOST_LISTS: u32 = 10;

impl StateDir {
    /// The snapshots, oldest first, and the files there that are not snapshots or are damaged, each with the reason. It
    /// reads the manifests, but no part.
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
        if let Some(store) = &self.elsewhere {
            return store.snapshots();
        }
        let below = self.snapshots_dir();
        let mut lists = 1;
        loop {
            let names = self.names()?;
            let none = names.is_empty();
            let found = entry::list(&below, names, |path| self.disk.open(path, OpenMode::Read));
            // If all were removed since, another process has newer ones.
            if none || !found.is_empty() || lists == MOST_LISTS {
                return Ok(found);
            }
            lists += 1;
        }
    }

    /// The names of the files, but for unfinished ones.
    pub(super) fn names(&self) -> Result<Vec<String>, StateError> {
        let below = self.snapshots_dir();
        let names = self.disk.list(&below).map_err(StateError::io("list", &below))?;
        Ok(names.into_iter().filter(|name| !name.ends_with(UNFINISHED)).collect())
    }

    /// The newest snapshot whose manifest is whole; `None` if there is none.
    ///
    /// # Errors
    ///
    /// As [`snapshots`](StateDir::snapshots).
    pub fn newest(&self) -> Result<Option<Manifest>, StateError> {
        Ok(entry::whole(self.snapshots()?).pop())
    }

    /// The parts of a snapshot, in the order in which they were saved, each checked against its length and its hash.
    /// They take as much memory as they have bytes.
    ///
    /// # Errors
    ///
    /// If the snapshot is not as it was saved, was removed, or the system refuses.
    pub fn load(&self, manifest: &Manifest) -> Result<Vec<Part>, StateError> {
        let mut parts = Vec::new();
        self.read_parts(manifest, |part| parts.push(part))?;
        Ok(parts)
    }

    /// As [`load`](StateDir::load), and keeps nothing: it takes the memory of the largest part.
    ///
    /// # Errors
    ///
    /// As [`load`](StateDir::load).
    pub fn verify(&self, manifest: &Manifest) -> Result<(), StateError> {
        self.read_parts(manifest, drop)
    }

    fn read_parts(&self, manifest: &Manifest, with: impl FnMut(Part)) -> Result<(), StateError> {
        if let Some(store) = &self.elsewhere {
            return store.read_parts(manifest, with);
        }
        let open = |path: &Path| self.disk.open(path, OpenMode::Read).map_err(StateError::io("open", path));
        manifest::read_parts(&self.snapshots_dir(), manifest, open, with)
    }

    /// Removes the snapshots that do not [stay](Retention), newest first, and returns them, oldest first. Files that
    /// cannot be read stay.
    ///
    /// # Errors
    ///
    /// If the system refuses, or the directory was opened to be read. Some may be removed then.
    pub fn prune(&self, keep: Retention) -> Result<Vec<Manifest>, StateError> {
        if let Some(store) = &self.elsewhere {
            return store.prune(keep);
        }
        let mut saving = self.writing()?;
        let mut whole = entry::whole(self.snapshots()?);
        whole.truncate(keep.removes(&whole, self.disk.now_unix_ms()));
        self.remove(&mut saving, &whole)?;
        Ok(whole)
    }

    /// Goes back to the snapshot with this id: checks it whole, removes the newer ones, newest first, and returns them,
    /// oldest first. The next run of the job begins there. Files that cannot be read stay: a job passes over them.
    ///
    /// It changes nothing but snapshots. The run that begins there processes the numbers since again: a source reads
    /// them again, also from its journal; files are cut, and dead letters since are removed. What cannot be undone
    /// stays. A [table](crate::claims) keeps the rows that it has, and the job skips their numbers: if another version
    /// wrote them, remove them first, and set the job's next number. An [effect](crate::effects) is not performed
    /// again, and has the answer that is recorded.
    ///
    /// ```
    /// use millstream::state::{Saved, StateDir};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let dir = StateDir::open(&path, "orders")?;
    /// let first = dir.save(&Saved { at: 1000, ..Saved::default() })?;
    /// let second = dir.save(&Saved { at: 2000, ..Saved::default() })?;
    /// assert_eq!(dir.back_to(first.id)?, [second]);
    /// assert_eq!(dir.newest()?, Some(first));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no such snapshot, or it is damaged: then nothing is removed. If the system refuses, or the directory
    /// was opened to be read: some may be removed then, the newest ones.
    pub fn back_to(&self, id: u64) -> Result<Vec<Manifest>, StateError> {
        let mut whole = entry::whole(self.snapshots()?);
        let Some(at) = whole.iter().rposition(|manifest| manifest.id == id) else {
            return Err(StateError::NoSnapshot { path: self.path.clone(), id });
        };
        self.verify(&whole[at])?;
        let newer = whole.split_off(at + 1);
        self.discard_after(id)?;
        Ok(newer)
    }

    /// Removes the snapshots that are newer than this one: those of a run that is done again from here.
    pub(crate) fn discard_after(&self, id: u64) -> Result<(), StateError> {
        if let Some(store) = &self.elsewhere {
            return store.discard_after(id);
        }
        let mut saving = self.writing()?;
        let mut newer = entry::whole(self.snapshots()?);
        newer.retain(|manifest| manifest.id > id);
        self.remove(&mut saving, &newer)
    }

    /// Removes these snapshots, of which the oldest is the first.
    fn remove(&self, saving: &mut Saving, manifests: &[Manifest]) -> Result<(), StateError> {
        for manifest in manifests.iter().rev() {
            let path = self.snapshots_dir().join(manifest.file());
            self.disk.remove(&path).map_err(StateError::io("remove", &path))?;
            if manifest.needs().next().is_some() {
                // It must not come back without the files with its parts.
                self.sync_snapshots(saving)?;
            }
        }
        if manifests.is_empty() { Ok(()) } else { self.sync_snapshots(saving) }
    }
}
