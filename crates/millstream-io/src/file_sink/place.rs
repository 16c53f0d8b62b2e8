use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};

/// The size of a file, and the number of old files to keep.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rotation {
    pub(super) size: u64,
    pub(super) keep: u32,
}

/// The path of the written file, and of the finished one.
#[derive(Debug)]
pub(super) enum Place {
    Here {
        path: PathBuf,
        rotation: Option<Rotation>,
    },
    /// A temporary file, until it gets the name `target`.
    Beside {
        temporary: PathBuf,
        target: PathBuf,
        arrived: bool,
    },
}

impl Place {
    /// The file of this name, opened for appending, and its length.
    pub(super) fn here(path: PathBuf, rotation: Option<Rotation>) -> Result<(Self, File, u64)> {
        let file = appended(&path)?;
        let metadata = file.metadata()?;
        if rotation.is_some() && !metadata.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "only a regular file can be rotated"));
        }
        let length = if metadata.is_file() { metadata.len() } else { 0 };
        Ok((Place::Here { path, rotation }, file, length))
    }

    /// A new file in the directory of this name's file.
    pub(super) fn beside(path: &Path) -> Result<(Self, File, u64)> {
        let (target, old) = match fs::canonicalize(path) {
            Ok(target) => {
                let old = fs::metadata(&target)?;
                if !old.is_file() {
                    return Err(Error::new(ErrorKind::InvalidInput, "only a regular file can be replaced"));
                }
                (target, Some(old))
            }
            Err(error) if error.kind() == ErrorKind::NotFound => (end_of_links(path)?, None),
            Err(error) => return Err(error),
        };
        let (temporary, file) = temporary(&target)?;
        let place = Place::Beside { temporary, target, arrived: false }; // dropped, it removes the file
        if let Some(old) = old {
            file.set_permissions(old.permissions())?;
        }
        Ok((place, file, 0))
    }

    /// Whether a file of this length must be rotated away first.
    pub(super) fn rotates_above(&self, length: u64) -> bool {
        matches!(self, Place::Here { rotation: Some(rotation), .. } if length > rotation.size)
    }

    /// Renames the file to NAME.1, NAME.1 to NAME.2 and so on, and makes a new one.
    pub(super) fn rotate(&self) -> Result<File> {
        let Place::Here { path, rotation: Some(rotation) } = self else { unreachable!("asked before") };
        // The file was renamed before if the new one could not be made the last time.
        if path.try_exists()? {
            for n in (1..rotation.keep).rev() {
                match fs::rename(numbered(path, n), numbered(path, n + 1)) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    renamed => renamed?,
                }
            }
            fs::rename(path, numbered(path, 1))?;
        }
        appended(path)
    }

    /// Gives a new file its name.
    pub(super) fn arrive(&mut self) -> Result<()> {
        if let Place::Beside { temporary, target, arrived } = self {
            fs::rename(&*temporary, &*target)?;
            *arrived = true;
        }
        Ok(())
    }

    /// Makes the file's name survive a crash of the machine too.
    pub(super) fn sync_directory(&self) -> Result<()> {
        let (Place::Here { path, .. } | Place::Beside { target: path, .. }) = self;
        // If the name is a link, as `/dev/stdout` is, the file it leads to has the name that counts.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        match File::open(directory(&path))?.sync_all() {
            Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()), // not every file system supports this
            synced => synced,
        }
    }

    pub(super) fn keeps_unfinished(&self) -> bool {
        matches!(self, Place::Here { .. })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Place::Beside { temporary, arrived: false, .. } = self {
            let _ = fs::remove_file(temporary);
        }
    }
}

/// The most links, as the system follows.
const MOST_LINKS: usize = 40;

/// The name to which a link leads, of a file that is not there yet.
fn end_of_links(path: &Path) -> Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        if !path.is_symlink() || path.exists() {
            return Ok(path);
        }
        path = directory(&path).join(fs::read_link(&path)?);
    }
    Err(Error::new(ErrorKind::InvalidInput, "too many symbolic links"))
}

fn appended(path: &Path) -> Result<File> {
    OpenOptions::new().append(true).create(true).open(path)
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    }
}

fn numbered(path: &Path, n: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{n}"));
    name.into()
}

/// A new file in the directory of `target`. A file of the same name may be one that a killed process of the same number
/// has left, or that of a process of another container: it stays, and the next name is taken.
fn temporary(target: &Path) -> Result<(PathBuf, File)> {
    static MADE: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| Error::new(ErrorKind::InvalidInput, "not the name of a file"))?;
    loop {
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.{}.tmp", process::id(), MADE.fetch_add(1, Ordering::Relaxed)));
        let path = directory(target).join(hidden);
        match OpenOptions::new().append(true).create_new(true).open(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            opened => return Ok((path, opened?)),
        }
    }
}
