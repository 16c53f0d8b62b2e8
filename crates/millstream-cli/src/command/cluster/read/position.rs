//! The place of a reader in the edge and in its output, in a file, so that a reader that was killed goes on exactly.
//!
//! The output is synced before the file notes it, and the file before the edge is trimmed. So the next reader cuts the
//! output to what the file notes, and prints what comes after it: the edge still has that.

use crate::input::{identity, output_appends};
use crate::message::{Complaints, cause, quoted};
use crate::outcome::Outcome;
use millstream_core::keys::StableHasher;
use millstream_state::dir::replace;
use millstream_state::disk::RealDisk;
use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::hash::Hasher;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

const STANDARD_OUTPUT: &str = "/dev/stdout";
const FORMAT: u32 = 1;
/// The most bytes of an output's end by which it is known.
const TAIL: u64 = 64;

/// The contents of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Noted {
    format: u32,
    app: String,
    /// The batch that is printed next.
    next: u64,
    /// The hash of the batch before it, if one was printed.
    last: Option<u64>,
    /// The output: its device and its number there, and its length before batch `next`. The device has another number
    /// after a reboot on some file systems.
    output: (u64, u64),
    bytes: u64,
    /// The hash of the last of these bytes; files of earlier versions have none.
    #[serde(default)]
    tail: Option<u64>,
}

/// A file of a place, and the output.
pub(super) struct Position {
    path: PathBuf,
    noted: Noted,
    /// Standard output, locked, so that no other reader writes to it.
    output: File,
}

/// Why there is none: wrong use, or a failure.
pub(super) struct Unfit(pub(super) String, pub(super) Outcome);

fn wrong(why: &str) -> Unfit {
    Unfit(format!("--position: {why}"), Outcome::WrongUse)
}

fn hash(batch: &[u8]) -> u64 {
    let mut hasher = StableHasher::default();
    hasher.write(batch);
    hasher.finish()
}

/// The hash of the last of these first bytes of a file.
fn tail(mut file: &File, bytes: u64) -> io::Result<u64> {
    let begins = bytes.saturating_sub(TAIL);
    file.seek(SeekFrom::Start(begins))?;
    let mut last = Vec::new();
    file.take(bytes - begins).read_to_end(&mut last)?;
    Ok(hash(&last))
}

impl Position {
    /// Reads the file, and cuts standard output to what it notes. Without the file, the first batch is `from`.
    pub(super) fn open(path: &Path, app: &str, from: u64, complaints: &Complaints) -> Result<Self, Unfit> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: io::Error| {
                Unfit(format!("--position: {what}: {}", cause(&error)), Outcome::InputOrOutputFailed)
            }
        };
        let of_output = failed("standard output");
        let metadata = std::fs::metadata(STANDARD_OUTPUT).map_err(&of_output)?;
        let Some(file) = identity(&metadata) else {
            return Err(wrong("standard output is not a file: append to one with `>> FILE`"));
        };
        if !output_appends().map_err(&of_output)? {
            return Err(wrong(
                "standard output goes to its file by `>`, which empties the file at each start: write `>> FILE`",
            ));
        }
        let output = OpenOptions::new().read(true).write(true).open(STANDARD_OUTPUT).map_err(&of_output)?;
        match output.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(wrong("another reader writes to this file")),
            Err(TryLockError::Error(error)) => return Err(of_output(error)),
        }
        let length = output.metadata().map_err(&of_output)?.len();
        let (shown, of_file) = (quoted(path.as_os_str()), failed(&quoted(path.as_os_str())));
        let path = std::path::absolute(path).map_err(&of_file)?;
        let bytes = match std::fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let app = app.to_owned();
                let tail = Some(tail(&output, length).map_err(&of_output)?);
                let noted = Noted { format: FORMAT, app, next: from, last: None, output: file, bytes: length, tail };
                let position = Position { path, noted, output };
                position.write()?;
                return Ok(position);
            }
            Err(error) => return Err(of_file(error)),
        };
        let noted: Option<Noted> = serde_json::from_slice(&bytes).ok();
        let Some(noted) = noted.filter(|noted| noted.format == FORMAT) else {
            return Err(wrong(&format!("{shown} is not a file of this flag")));
        };
        let Noted { next, bytes, .. } = noted;
        if noted.app != app {
            return Err(wrong(&format!("{shown} is for the application {}: take another file", noted.app)));
        }
        let is_same = noted.output.1 == file.1;
        let ends_so = || match noted.tail {
            Some(noted) => tail(&output, bytes).map(|tail| tail == noted),
            None => Ok(true),
        };
        if !is_same || bytes > length || !ends_so().map_err(&of_output)? {
            let other = match is_same {
                true if bytes > length => format!("has only {length}"),
                true => "has others".to_owned(),
                false => "is another file".to_owned(),
            };
            return Err(wrong(&format!(
                "{shown} notes an output of {bytes} bytes before batch {next}, and standard output {other}: to begin \
                 a new output with that batch, remove {shown} and write `--from {next}`"
            )));
        }
        if length > bytes {
            output.set_len(bytes).map_err(&of_output)?;
            let cut = length - bytes;
            complaints
                .note(&format!("--position: goes on with batch {next}; {cut} bytes of output after it are cut off"));
        }
        Ok(Position { path, noted, output })
    }

    /// The batch that is printed next.
    pub(super) fn next(&self) -> u64 {
        self.noted.next
    }

    /// Whether a batch was printed, so that batches before [`next`](Position::next) cannot be left out.
    pub(super) fn has_begun(&self) -> bool {
        self.noted.last.is_some()
    }

    /// Whether this is the batch before the next one.
    pub(super) fn is_last(&self, batch: &[u8]) -> bool {
        self.noted.last == Some(hash(batch))
    }

    /// Takes a batch and its text, which are printed.
    pub(super) fn printed(&mut self, number: u64, batch: &[u8], text: &[u8]) {
        self.noted.next = number + 1;
        self.noted.last = Some(hash(batch));
        self.noted.bytes += text.len() as u64;
    }

    /// Syncs the output, and notes it.
    pub(super) fn save(&mut self) -> Result<(), Unfit> {
        let failed = |error| Unfit(format!("standard output: {}", cause(&error)), Outcome::InputOrOutputFailed);
        self.output.sync_data().map_err(failed)?;
        self.noted.tail = Some(tail(&self.output, self.noted.bytes).map_err(failed)?);
        self.write()
    }

    fn write(&self) -> Result<(), Unfit> {
        let failed = |why: String| Unfit(format!("--position: {why}"), Outcome::InputOrOutputFailed);
        let bytes = serde_json::to_vec(&self.noted).map_err(|error| failed(error.to_string()))?;
        replace(&RealDisk, &self.path, &bytes).map_err(|error| failed(error.to_string()))
    }

    /// The file, for messages.
    pub(super) fn shown(&self) -> String {
        quoted(self.path.as_os_str())
    }
}
