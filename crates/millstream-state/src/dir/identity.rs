//! The file `job`, and whether a directory is a state directory at all.

use crate::StateError;
use crate::disk::{Disk, OpenMode};
use crate::sealed::Kind;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

/// The end of the name of a file that is being written.
pub(super) const UNFINISHED: &str = ".unfinished";
pub(super) const SNAPSHOTS: &str = "snapshots";
const JOB: &str = "job";
pub(super) const LOCK: &str = "lock";
pub(crate) const KIND: Kind = Kind { name: "millstream-job", format: 1 };

/// The contents of the file `job`.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub(crate) program: String,
    pub(crate) epoch: u64,
}

impl Identity {
    pub(crate) fn new(program: &str, epoch: u64) -> Self {
        Identity { program: program.to_owned(), epoch }
    }

    /// The file of this directory.
    pub(super) fn read(disk: &dyn Disk, dir: &Path) -> Result<Self, StateError> {
        let path = dir.join(JOB);
        let mut file = disk.open(&path, OpenMode::Read).map_err(StateError::io("open", &path))?;
        let (identity, begin) = KIND.read(&mut *file).map_err(|why| why.at(&path, &KIND))?;
        if begin == 0 { Ok(identity) } else { Err(StateError::damaged(&path, "it has bytes before its JSON")) }
    }

    /// Writes it, and returns when it is durable, with all other names in the directory.
    pub(super) fn write(&self, disk: &dyn Disk, dir: &Path) -> Result<(), StateError> {
        let path = dir.join(JOB);
        let bytes = KIND.write(self).map_err(|error| StateError::io("write", &path)(error.into()))?;
        replace(disk, &path, &bytes)
    }
}

/// Replaces a small file of a state directory, or makes it, and returns when it is durable, with all other names in the
/// directory. A crash leaves the old file or the new one.
///
/// # Errors
///
/// If the system refuses. The old file is then as it was, or the new one is there, but may not be durable.
pub fn replace(disk: &dyn Disk, path: &Path, bytes: &[u8]) -> Result<(), StateError> {
    write_beside(disk, path, &[bytes])?;
    finish(disk, path)?;
    let dir = path.parent().unwrap_or(path);
    disk.sync_dir(dir).map_err(StateError::io("sync", dir))
}

/// Writes a file under the name of an unfinished one, and syncs it. If that fails, it removes the file, so that a full
/// disk has its room back.
pub(super) fn write_beside(disk: &dyn Disk, path: &Path, pieces: &[&[u8]]) -> Result<(), StateError> {
    let beside = path.with_file_name(unfinished(path));
    let written = || {
        let mut file = disk.open(&beside, OpenMode::Create).map_err(StateError::io("create", &beside))?;
        let mut offset = 0;
        for piece in pieces {
            file.write_at(piece, offset).map_err(StateError::io("write", &beside))?;
            offset += piece.len() as u64;
        }
        file.sync().map_err(StateError::io("sync", &beside))
    };
    written().inspect_err(|_| drop(disk.remove(&beside)))
}

/// Renames the written file to its proper name.
pub(super) fn finish(disk: &dyn Disk, path: &Path) -> Result<(), StateError> {
    disk.rename(&path.with_file_name(unfinished(path)), path).map_err(StateError::io("rename a file to", path))
}

fn unfinished(path: &Path) -> String {
    format!("{}{UNFINISHED}", path.file_name().unwrap_or_default().to_string_lossy())
}

/// The identity of this directory; `None` if it is empty, or an interrupted `open` was the first. Any other directory
/// is refused.
pub(super) fn find(disk: &dyn Disk, dir: &Path, program: Option<&str>) -> Result<Option<Identity>, StateError> {
    let names = disk.list(dir).map_err(StateError::io("list", dir))?;
    if names.iter().any(|name| name == JOB) {
        let identity = Identity::read(disk, dir)?;
        return match program {
            Some(ours) if ours != identity.program => {
                Err(StateError::OtherProgram { path: dir.to_owned(), theirs: identity.program, ours: ours.to_owned() })
            }
            _ => Ok(Some(identity)),
        };
    }
    let unfinished = format!("{JOB}{UNFINISHED}");
    let of_first_open = [LOCK, SNAPSHOTS, &unfinished, "lost+found"];
    match names.into_iter().find(|name| !of_first_open.contains(&name.as_str())) {
        None => Ok(None),
        Some(found) => Err(StateError::NotState { path: dir.to_owned(), found: format!("`{found}`") }),
    }
}

/// Removes unfinished files, and returns their paths in the directory.
pub(super) fn remove_unfinished(disk: &dyn Disk, dir: &Path) -> Result<Vec<String>, StateError> {
    let mut removed = Vec::new();
    for (below, prefix) in [(dir.to_owned(), String::new()), (dir.join(SNAPSHOTS), format!("{SNAPSHOTS}/"))] {
        let names = match disk.list(&below) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            names => names.map_err(StateError::io("list", &below))?,
        };
        for name in names.iter().filter(|name| name.ends_with(UNFINISHED)) {
            let path = below.join(name);
            disk.remove(&path).map_err(StateError::io("remove", &path))?;
            removed.push(format!("{prefix}{name}"));
        }
    }
    Ok(removed)
}
