//! Everything that this crate does to a disk.
//!
//! The crate relies on the rules of a POSIX file system, and on nothing more. Written bytes, and the length of a file,
//! may be lost or half there until the file is synced. A name that was made, renamed or removed may come back or be
//! lost until its directory is synced. A rename shows the old file or the new one, and nothing between. A failed sync
//! has lost the bytes that it should have synced, even if a later one succeeds.
//!
//! [`RealDisk`] is the machine's. A test's disk implements the same traits, fails on request, and crashes.

mod real;

use std::path::Path;
use std::{fmt, io};

pub use real::RealDisk;

/// The operations on files and directories that a state needs.
///
/// Each of them acts at once and is durable only where it says so.
///
/// ```
/// use millstream::state::disk::{Disk, OpenMode, RealDisk};
///
/// # let home = tempfile::tempdir()?;
/// # let home = home.path();
/// let mut file = RealDisk.open(&home.join("draft"), OpenMode::Create)?;
/// file.write_at(b"durable", 0)?;
/// file.sync()?;
/// RealDisk.rename(&home.join("draft"), &home.join("final"))?;
/// RealDisk.sync_dir(home)?;
/// assert_eq!(RealDisk.list(home)?, ["final"]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub trait Disk: fmt::Debug + Send + Sync {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If there is none, except to create it, or the system refuses.
    fn open(&self, path: &Path, mode: OpenMode) -> io::Result<Box<dyn DiskFile>>;

    /// The names in a directory, sorted. A name that is not UTF-8 has replacement characters.
    ///
    /// # Errors
    ///
    /// If it is no directory, or the system refuses.
    fn list(&self, dir: &Path) -> io::Result<Vec<String>>;

    /// Makes one directory.
    ///
    /// # Errors
    ///
    /// If the name is taken ([`AlreadyExists`](io::ErrorKind::AlreadyExists)), there is nothing to make it in
    /// ([`NotFound`](io::ErrorKind::NotFound)), or the system refuses.
    fn make_dir(&self, path: &Path) -> io::Result<()>;

    /// Gives a file another name, and replaces the file that had it.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Removes a file's name.
    ///
    /// # Errors
    ///
    /// If there is none, or the system refuses.
    fn remove(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a directory durable, but not the contents of the files.
    ///
    /// # Errors
    ///
    /// If the system refuses; then the names may be lost at any later time.
    fn sync_dir(&self, dir: &Path) -> io::Result<()>;

    /// Locks a file against other processes, and against other calls in this one, until the returned lock is dropped or
    /// the process ends. Writes `holder` into it. Creates the file if there is none.
    ///
    /// # Errors
    ///
    /// If it is locked, with what its holder wrote, or the system refuses.
    fn lock(&self, path: &Path, holder: &str) -> Result<Box<dyn DiskLock>, LockError>;

    /// Milliseconds since 1970, by a clock that may jump.
    fn now_unix_ms(&self) -> u64;
}

/// An open file of a [`Disk`].
pub trait DiskFile: fmt::Debug + Send {
    /// Reads at an offset, and returns how many bytes there were. There are fewer than the buffer has room for only at
    /// the end of the file.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Writes all bytes at an offset. A gap after the end of the file is filled with zeros.
    ///
    /// # Errors
    ///
    /// If the system refuses; a part of the bytes may be written.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Cuts the file, or fills it up with zeros, to this length.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn set_len(&mut self, length: u64) -> io::Result<()>;

    /// The length in bytes.
    ///
    /// # Errors
    ///
    /// If the system refuses.
    fn length(&self) -> io::Result<u64>;

    /// Makes the bytes and the length durable, but not the file's name.
    ///
    /// # Errors
    ///
    /// If the system refuses; then the bytes written since the last sync may be lost, even if a later sync succeeds.
    fn sync(&mut self) -> io::Result<()>;
}

/// A lock, as long as it is not dropped.
pub trait DiskLock: fmt::Debug + Send + Sync {}

/// How to open a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OpenMode {
    /// To read a file that is there.
    Read,
    /// To read and write a file that is there.
    Write,
    /// To read and write a new file; one that is there is emptied.
    Create,
}

/// Why a file could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// It is locked already; the text is what the holder wrote.
    #[error("locked by {0}")]
    Held(String),
    /// The system refused.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Makes a directory and those above it, where there are none.
pub(crate) fn make_dirs(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    match (disk.make_dir(dir), dir.parent()) {
        (Ok(()), _) => Ok(()),
        (Err(error), _) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
            make_dirs(disk, parent)?;
            disk.make_dir(dir)
        }
        (Err(error), _) => Err(error),
    }
}

/// Makes the names on the way to a directory durable. Some may be those of a process that died before it did this, so
/// it is done whenever there is nothing in the directory that shows that it was.
pub(crate) fn sync_above(disk: &dyn Disk, dir: &Path) -> io::Result<()> {
    for above in dir.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty()) {
        match disk.sync_dir(above) {
            // A directory that this process may not open was not made by it, and is older.
            Err(error) if is_refused(&error) => (),
            synced => synced?,
        }
    }
    Ok(())
}

fn is_refused(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
}

/// What this process writes into a lock.
pub(crate) fn holder() -> String {
    format!("process {}", std::process::id())
}

/// Fills the buffer from an offset on.
pub(crate) fn read_exact(file: &mut dyn DiskFile, buffer: &mut [u8], offset: u64) -> io::Result<()> {
    match file.read_at(buffer, offset)? {
        read if read == buffer.len() => Ok(()),
        _ => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}
