use std::io;
use std::path::{Path, PathBuf};

/// Why a state directory could not be used. Each message names the file and says what to do where there is a choice.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StateError {
    /// The system refused an operation.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io {
        /// The operation, as a verb.
        operation: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A process has the lock.
    #[error("{} is in use by {holder}: end it first, or use another directory", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// What the holder wrote into the lock: `process` and its number.
        holder: String,
    },
    /// The directory is another program's.
    #[error("{} has the state of the program `{theirs}`, and this is `{ours}`: use another directory; or, if this is \
         another version of it, its name (`Program::named`, `StateDir::open`)", path.display())]
    OtherProgram {
        /// The directory.
        path: PathBuf,
        /// The program that made it.
        theirs: String,
        /// The program that opens it.
        ours: String,
    },
    /// The directory has files that are not a state.
    #[error("{} is not a state directory, and not empty: it has {found}. Use an empty or a new one", path.display())]
    NotState {
        /// The directory.
        path: PathBuf,
        /// One of its entries.
        found: String,
    },
    /// There is no state in the directory.
    #[error("{} has no state: no program has begun one there", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// The file was written by a later version of this crate.
    #[error("{} has the format {format}; this version reads formats up to {known}", path.display())]
    LaterFormat {
        /// The file.
        path: PathBuf,
        /// Its format.
        format: u32,
        /// The last one that this version reads.
        known: u32,
    },
    /// The file is not as it was written.
    #[error("{} is damaged: {why}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The directory has no whole snapshot with this id.
    #[error("{} has no whole snapshot {id}: `snapshots` lists those that it has", path.display())]
    NoSnapshot {
        /// The directory.
        path: PathBuf,
        /// The snapshot's id.
        id: u64,
    },
    /// The snapshot cannot be saved as it is.
    #[error("cannot save a snapshot in {}: {why}", path.display())]
    Refused {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// The directory was opened by [`StateDir::read`](crate::StateDir::read).
    #[error("{} was opened for reading only", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
    },
    /// A process with a higher epoch has taken over.
    #[error("{} belongs to a process of epoch {theirs}, and this one has epoch {ours}: it must stop", path.display())]
    Superseded {
        /// The directory.
        path: PathBuf,
        /// The epoch of the directory.
        theirs: u64,
        /// The epoch of this process.
        ours: u64,
    },
    /// A sync of the directory failed earlier, so what is durable there is not known.
    #[error("a sync of {} failed, so it takes no more snapshots from this process: {why}", path.display())]
    Poisoned {
        /// The directory.
        path: PathBuf,
        /// The failure.
        why: String,
    },
}

impl StateError {
    /// For `map_err`: the system's error in this operation.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| StateError::Io { operation, path, source }
    }

    pub(crate) fn damaged(path: &Path, why: impl Into<String>) -> Self {
        StateError::Damaged { path: path.to_owned(), why: why.into() }
    }
}
