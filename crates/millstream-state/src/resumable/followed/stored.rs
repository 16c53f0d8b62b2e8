//! The positions of a followed file, as they are stored.

use crate::resumable::{of_another_source, stored_path};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::io;
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
}

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
