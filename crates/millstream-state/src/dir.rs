//! The directory of a job: opening and locking it, the snapshots in it, and what to keep of them.
//!
//! # The files
//!
//! | file | what it is |
//! | --- | --- |
//! | `job` | the program that made the directory, and the epoch: sealed JSON, written again by each `open` |
//! | `lock` | locked by the process that may write; it has its number |
//! | `journal/` | the journal, if the job has one: see [`journal`](crate::journal) |
//! | `snapshots/*.snapshot` | the snapshots, each a file: see [`manifest`](crate::manifest) |
//! | `printed` | the line that `millstream wc` printed last, and where in its output: JSON |
//! | `left` | where the last run stopped for a process that follows it, and what its sink held there: sealed JSON |
//! | `take-over` | a socket, where a service listens for the process that is to take over from it |
//! | `*.unfinished` | what was being written when a process died; the next `open` removes it |

mod elsewhere;
mod identity;
mod left;
mod save;
mod snapshots;

use crate::StateError;
use crate::disk::{self, Disk, DiskLock, LockError, RealDisk};
use crate::journal::{Journal, JournalError, JournalOptions, Recovered};
use crate::resumable::Behind;
use crate::room::Room;
use crate::store::StoreDir;
use identity::SNAPSHOTS;
pub use identity::replace;
pub(crate) use identity::{Identity, KIND as JOB_KIND};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// One job's directory, locked by this process; or opened to be read.
///
/// Threads may share it; snapshots are saved one at a time. Dropping it releases the lock.
#[derive(Debug)]
pub struct StateDir {
    disk: Arc<dyn Disk>,
    path: PathBuf,
    identity: Identity,
    /// `None` if the directory was opened only to be read.
    _lock: Option<Box<dyn DiskLock>>,
    removed: Vec<String>,
    saving: Option<Mutex<save::Saving>>,
    /// Where the snapshots are, if not here.
    elsewhere: Option<StoreDir>,
    /// Set while a job that follows another process makes its source.
    behind: Option<Arc<Behind>>,
    /// By which the job's journals ask the job for room.
    room: Arc<Room>,
}

impl StateDir {
    /// Opens the state directory of a program, or makes one, even in an existing empty directory. Locks it against
    /// other processes, raises its [`epoch`](StateDir::epoch) durably, and [removes](StateDir::removed) what an
    /// interrupted process left unfinished.
    ///
    /// The name of a program may be any text. A mount point's `lost+found` does not count as a file.
    ///
    /// ```
    /// use millstream::state::{StateDir, StateError};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let dir = StateDir::open(&path, "orders")?;
    /// assert_eq!(dir.epoch(), 1);
    /// assert!(matches!(StateDir::open(&path, "orders"), Err(StateError::InUse { .. })));
    /// drop(dir);
    /// assert!(matches!(StateDir::open(&path, "payments"), Err(StateError::OtherProgram { .. })));
    /// assert_eq!(StateDir::open(&path, "orders")?.epoch(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If another process has it, it is another program's, it has files and is no state directory, its format is later,
    /// its file `job` is damaged, or the system refuses an operation. Only in the last case may something have changed.
    pub fn open(path: impl Into<PathBuf>, program: &str) -> Result<StateDir, StateError> {
        let path = path.into();
        let path = std::path::absolute(&path).map_err(StateError::io("find", &path))?;
        StateDir::open_on(Arc::new(RealDisk), path, program)
    }

    /// As [`open`](StateDir::open), on a disk of your own. The path should be absolute.
    ///
    /// # Errors
    ///
    /// As [`open`](StateDir::open).
    pub fn open_on(disk: Arc<dyn Disk>, path: impl Into<PathBuf>, program: &str) -> Result<StateDir, StateError> {
        let path = path.into();
        disk::make_dirs(&*disk, &path).map_err(StateError::io("make", &path))?;
        // A look before the lock: its file must not come into another program's directory.
        identity::find(&*disk, &path, Some(program))?;
        let lock = lock(&*disk, &path)?;
        let known = identity::find(&*disk, &path, Some(program))?;
        let removed = identity::remove_unfinished(&*disk, &path)?;
        let snapshots = path.join(SNAPSHOTS);
        disk::make_dirs(&*disk, &snapshots).map_err(StateError::io("make", &snapshots))?;
        if known.is_none() {
            disk::sync_above(&*disk, &path).map_err(StateError::io("sync the directories above", &path))?;
        }
        // A process that was killed may have left a snapshot whose name is not durable yet.
        disk.sync_dir(&snapshots).map_err(StateError::io("sync", &snapshots))?;
        let epoch = known.map_or(0, |known| known.epoch) + 1;
        let identity = Identity::new(program, epoch);
        identity.write(&*disk, &path)?;
        let saving = save::Saving::begin(&*disk, &path)?;
        Ok(StateDir {
            disk,
            path,
            identity,
            _lock: Some(lock),
            removed,
            saving: Some(Mutex::new(saving)),
            elsewhere: None,
            behind: None,
            room: Arc::default(),
        })
    }

    /// Opens a state directory only to read it, without the lock: even while a process uses it, and whatever its
    /// program is. Changes nothing on the disk. [`save`](StateDir::save) and [`prune`](StateDir::prune) return
    /// [`StateError::ReadOnly`].
    ///
    /// ```
    /// use millstream::state::StateDir;
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let used = StateDir::open(&path, "orders")?;
    /// let read = StateDir::read(&path)?;
    /// assert_eq!((read.program(), read.epoch()), ("orders", 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If there is no state directory, its format is later, its file `job` is damaged, or the system refuses.
    pub fn read(path: impl Into<PathBuf>) -> Result<StateDir, StateError> {
        let path = path.into();
        let path = std::path::absolute(&path).map_err(StateError::io("find", &path))?;
        StateDir::read_on(Arc::new(RealDisk), path)
    }

    /// As [`read`](StateDir::read), on a disk of your own.
    ///
    /// # Errors
    ///
    /// As [`read`](StateDir::read).
    pub fn read_on(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Result<StateDir, StateError> {
        let path = path.into();
        let Some(identity) = identity::find(&*disk, &path, None)? else {
            return Err(StateError::Missing { path });
        };
        let (removed, saving, elsewhere, behind, room) = (Vec::new(), None, None, None, Arc::default());
        Ok(StateDir { disk, path, identity, _lock: None, removed, saving, elsewhere, behind, room })
    }

    /// The directory, as an absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The disk that it is on.
    #[must_use]
    pub fn disk(&self) -> &Arc<dyn Disk> {
        &self.disk
    }

    /// The program whose state it is.
    #[must_use]
    pub fn program(&self) -> &str {
        &self.identity.program
    }

    /// Whether it was opened to be [read](StateDir::read) alone.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.saving.is_none()
    }

    /// Whether a job makes its source from it that [follows](crate::Persistent::follow_run) another process: a source
    /// with a [journal](crate::journaled) then reads what that process writes there, and its live values begin only
    /// when this process takes over.
    #[must_use]
    pub fn is_followed(&self) -> bool {
        self.behind.is_some()
    }

    #[cfg(feature = "service")]
    pub(crate) fn set_behind(&mut self, behind: Arc<Behind>) {
        self.behind = Some(behind);
    }

    pub(crate) fn behind(&self) -> Option<&Arc<Behind>> {
        self.behind.as_ref()
    }

    pub(crate) fn room(&self) -> &Arc<Room> {
        &self.room
    }

    /// How often the directory was opened to write, this time included. Each snapshot has the epoch in its manifest and
    /// in the name of its file. So the snapshots of a process that was thought dead can be told from those of its
    /// successor.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.identity.epoch
    }

    /// The files that this `open` removed, as paths in the directory: what an interrupted process had not finished.
    #[must_use]
    pub fn removed(&self) -> &[String] {
        &self.removed
    }

    /// Opens the journal in the directory, in `journal`, or makes one, with the epoch of this `open`. A second call
    /// fails until the first journal is dropped.
    ///
    /// ```
    /// use millstream::state::StateDir;
    /// use millstream::state::journal::JournalOptions;
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let path = home.path().join("orders");
    /// let dir = StateDir::open(&path, "orders")?;
    /// let (mut journal, recovered) = dir.journal(JournalOptions::default())?;
    /// assert_eq!(recovered.next, 0);
    /// journal.append(0, b"first")?;
    /// assert_eq!(journal.commit()?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Journal::open`], and if the directory was opened to be read: use a
    /// [`JournalReader`](crate::journal::JournalReader).
    pub fn journal(&self, options: JournalOptions) -> Result<(Journal, Recovered), JournalError> {
        if self.saving.is_none() {
            return Err(JournalError::ReadOnly { path: self.path.clone() });
        }
        Journal::open(Arc::clone(&self.disk), self.journal_dir(), options, self.epoch())
    }

    /// The directory of the journal, for a [`JournalReader`](crate::journal::JournalReader).
    #[must_use]
    pub fn journal_dir(&self) -> PathBuf {
        self.path.join("journal")
    }

    /// The directory of the record of [effects](crate::effects), which is a journal.
    #[must_use]
    pub fn effects_dir(&self) -> PathBuf {
        self.path.join("effects")
    }

    fn snapshots_dir(&self) -> PathBuf {
        self.path.join(SNAPSHOTS)
    }
}

fn lock(disk: &dyn Disk, path: &Path) -> Result<Box<dyn DiskLock>, StateError> {
    let file = path.join(identity::LOCK);
    disk.lock(&file, &disk::holder()).map_err(|error| match error {
        LockError::Held(holder) => {
            let holder = if holder.is_empty() { "another process".to_owned() } else { holder };
            StateError::InUse { path: path.to_owned(), holder }
        }
        LockError::Io(error) => StateError::io("lock", &file)(error),
    })
}
