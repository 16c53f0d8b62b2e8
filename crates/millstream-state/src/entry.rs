use crate::StateError;
use crate::disk::DiskFile;
use crate::manifest::{self, Manifest};
use std::collections::HashSet;
use std::io;
use std::path::{Path, PathBuf};

/// An entry in the list of snapshots.
#[derive(Debug)]
#[non_exhaustive]
pub enum SnapshotEntry {
    /// A snapshot with a manifest that is whole. Its parts have the right length; their hashes are checked by
    /// [`StateDir::load`](crate::StateDir::load).
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

/// The entries for the files of these names, oldest first.
pub(crate) fn list(
    below: &Path,
    names: Vec<String>,
    mut open: impl FnMut(&Path) -> io::Result<Box<dyn DiskFile>>,
) -> Vec<SnapshotEntry> {
    let there: HashSet<&str> = names.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    for name in &names {
        let path = below.join(name);
        let Some((id, epoch)) = manifest::parse_name(name) else {
            let why = StateError::damaged(&path, "its name is not that of a snapshot");
            found.push(((0, 0), SnapshotEntry::Unreadable { path, why }));
            continue;
        };
        let read = match open(&path) {
            // Another process has removed it since the list was made.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Err(StateError::io("open", &path)(error)),
            Ok(mut file) => manifest::read(&mut *file, &path).and_then(|manifest| needs_none(manifest, &path, &there)),
        };
        let entry = match read {
            Ok(manifest) => SnapshotEntry::Whole(manifest),
            Err(why) => SnapshotEntry::Unreadable { path, why },
        };
        found.push(((epoch, id), entry));
    }
    // Snapshots of a process that was taken for dead count as older than those of its successor, whatever the ids.
    found.sort_by_key(|(order, _)| *order);
    found.into_iter().map(|(_, entry)| entry).collect()
}

/// The manifest, unless it needs a file that is missing.
fn needs_none(manifest: Manifest, path: &Path, there: &HashSet<&str>) -> Result<Manifest, StateError> {
    let why = manifest.needs().find(|file| !there.contains(file));
    let why = why.map(|missing| format!("parts of it are in {missing}, which is missing"));
    why.map_or(Ok(manifest), |why| Err(StateError::damaged(path, why)))
}

/// The manifests of the entries that are whole.
pub(crate) fn whole(entries: Vec<SnapshotEntry>) -> Vec<Manifest> {
    let whole = |entry| match entry {
        SnapshotEntry::Whole(manifest) => Some(manifest),
        SnapshotEntry::Unreadable { .. } => None,
    };
    entries.into_iter().filter_map(whole).collect()
}
