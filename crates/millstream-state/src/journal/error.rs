use std::io;
use std::path::{Path, PathBuf};

/// Why a journal could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
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
    /// Durable bytes are not as they were written.
    #[error("{} is damaged at byte {offset}: {why}", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What is wrong, with the numbers that are lost.
        why: String,
    },
    /// A record was written by a later version of this crate.
    #[error("{} has the format {format:#x} at byte {offset}; this version reads formats up to {known}", path.display())]
    LaterFormat {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// The record's format.
        format: u32,
        /// The last one that this version reads.
        known: u32,
    },
    /// A process with a higher epoch has written.
    #[error("{} belongs to a process of epoch {theirs}, and this one has epoch {ours}: it must stop", path.display())]
    Superseded {
        /// The file.
        path: PathBuf,
        /// The epoch in its name.
        theirs: u64,
        /// The epoch of this process.
        ours: u64,
    },
    /// The journal ends before a number that is known to have been durable.
    #[error("the journal {} ends at number {next}, and numbers below {at_least} were durable", path.display())]
    Behind {
        /// The directory.
        path: PathBuf,
        /// The number after its last value.
        next: u64,
        /// The number in [`JournalOptions::at_least`](crate::journal::JournalOptions::at_least).
        at_least: u64,
    },
    /// A process has the journal open.
    #[error("the journal {} is in use by {holder}: end it first", path.display())]
    InUse {
        /// The directory.
        path: PathBuf,
        /// What the holder wrote into the lock: `process` and its number.
        holder: String,
    },
    /// The appended number is not the next one.
    #[error("number {number} was appended, where {next} is next")]
    Gap {
        /// The number.
        number: u64,
        /// The next one.
        next: u64,
    },
    /// The journal has as many bytes as it may have: trim it, and append again.
    #[error("the journal {} would have {bytes} bytes, and may have {max}: trim it first", path.display())]
    Full {
        /// The directory.
        path: PathBuf,
        /// Its bytes, the value included.
        bytes: u64,
        /// The most that it may have.
        max: u64,
    },
    /// The journal is full, and the job has nothing to trim: what its snapshots need takes all the room.
    #[error("{} has no room for a value: what its snapshots need is all that it may have, {max} bytes. To go on, raise \
             `max_bytes`; or let fewer snapshots stay; or redo the dead letters that keep one", path.display())]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// The most bytes that it may have.
        max: u64,
    },
    /// The group has as many bytes as it may have: commit it, and append again.
    #[error("the group would have {bytes} bytes, and may have {max}: commit it first")]
    GroupFull {
        /// Its bytes, the value included.
        bytes: usize,
        /// The most that it may have.
        max: usize,
    },
    /// No value would fit into a journal of this size.
    #[error("the journal {}: `max_bytes` is {max}, and a value needs at least {least}", path.display())]
    TooSmall {
        /// The directory.
        path: PathBuf,
        /// The bytes that it may have.
        max: u64,
        /// The least that it needs.
        least: u64,
    },
    /// A value is longer than a record, or the whole journal, can be.
    #[error("a value of {bytes} bytes is too long: at most {max}")]
    TooLong {
        /// Its bytes.
        bytes: usize,
        /// The most that one may have.
        max: usize,
    },
    /// The values to be read were trimmed.
    #[error("number {number} was trimmed: the journal begins at {first}")]
    Trimmed {
        /// The number.
        number: u64,
        /// The first one that is there.
        first: u64,
    },
    /// The state directory was opened by [`StateDir::read`](crate::StateDir::read).
    #[error("{} was opened for reading only", path.display())]
    ReadOnly {
        /// The directory.
        path: PathBuf,
    },
    /// A sync failed, so what is durable is not known. The journal takes nothing more: start a new process.
    #[error("the journal takes nothing more; start a new process: {why}")]
    Poisoned {
        /// The failure.
        why: String,
    },
}

impl JournalError {
    /// Whether it may succeed later, when the disk has room.
    #[must_use]
    pub fn is_full(&self) -> bool {
        let JournalError::Io { source, .. } = self else { return false };
        matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge)
    }

    /// The same, if the journal is full and the job has no room for it.
    pub(crate) fn without_room(self) -> Self {
        match self {
            JournalError::Full { path, max, .. } => JournalError::NoRoom { path, max },
            other => other,
        }
    }

    /// Whether what was to be read was removed.
    pub(crate) fn is_gone(&self) -> bool {
        match self {
            JournalError::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            JournalError::Trimmed { .. } => true,
            _ => false,
        }
    }

    /// For `map_err`: the system's error in this operation.
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| JournalError::Io { operation, path, source }
    }

    pub(crate) fn corrupt(path: &Path, offset: u64, why: impl Into<String>) -> Self {
        JournalError::Corrupt { path: path.to_owned(), offset, why: why.into() }
    }
}
