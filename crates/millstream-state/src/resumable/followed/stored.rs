//! The positions of a followed file, as they are stored.

use super::inode::hash_before;
use crate::resumable::{of_another_source, stored_path};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

/// A place in a file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    #[serde(with = "stored_path")]
    pub(super) path: PathBuf,
    pub(super) device: u64,
    pub(super) inode: u64,
    pub(super) offset: u64,
    /// A hash of the bytes before the offset.
    pub(super) before: String,
    /// What is known of a file of which nothing is read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) begins: Option<Begins>,
}

/// The first bytes that a file had when its position was stored: their number, and a hash.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Begins {
    bytes: u64,
    hash: String,
}

impl Stored {
    /// A place in this file, if it is that long.
    pub(super) fn of(path: PathBuf, file: &mut File, offset: u64) -> io::Result<Option<Self>> {
        let metadata = file.metadata()?;
        let Some(before) = hash_before(file, offset)? else { return Ok(None) };
        let bytes = if offset == 0 { metadata.len().min(MOST_OF_BEGINNING) } else { 0 };
        let hash = if bytes > 0 { hash_before(file, bytes)? } else { None };
        let begins = hash.map(|hash| Begins { bytes, hash });
        Ok(Some(Stored { path, device: metadata.dev(), inode: metadata.ino(), offset, before, begins }))
    }

    /// Whether it says by bytes which file it is.
    pub(super) fn knows_bytes(&self) -> bool {
        self.offset > 0 || self.begins.is_some()
    }

    /// The number of bytes by which this file is another one, or has changed.
    pub(super) fn changed(&self, file: &mut File) -> io::Result<Option<u64>> {
        let (bytes, hash) = match &self.begins {
            Some(Begins { bytes, hash }) if self.offset == 0 => (*bytes, hash),
            _ => (self.offset, &self.before),
        };
        Ok((bytes > 0 && hash_before(file, bytes)?.as_ref() != Some(hash)).then_some(bytes))
    }
}

/// The most bytes of a beginning, which one hash covers.
const MOST_OF_BEGINNING: u64 = 4096;

/// A position that was stored.
pub(super) enum Position {
    /// No file had the name, and none has had it since this time, if it is known.
    Absent(Option<SystemTime>),
    In(Stored),
}

/// The position where no file has the name at this time.
pub(super) fn absent_since(time: SystemTime) -> Value {
    json!({ ABSENT_SINCE: time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default() })
}

const ABSENT_SINCE: &str = "absent_since";

impl Position {
    pub(super) fn read(position: &Value) -> io::Result<Self> {
        let other = || of_another_source("one in a followed file", position);
        if position.is_null() {
            return Ok(Position::Absent(None));
        }
        if let Some(since) = position.get(ABSENT_SINCE) {
            let since = Duration::deserialize(since).map_err(|_| other())?;
            return Ok(Position::Absent(SystemTime::UNIX_EPOCH.checked_add(since)));
        }
        Stored::deserialize(position).map(Position::In).map_err(|_| other())
    }
}
