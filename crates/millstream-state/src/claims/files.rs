//! Appended files.

use super::{ClaimingSink, Claims, OpenError};
use crate::before;
use millstream_core::{SequenceNumber, Shape};
use millstream_io::time::Clock;
use millstream_io::{FileSink, FileSinkOptions, Position};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Error, ErrorKind, Seek, SeekFrom};
use std::path::Path;

/// What a file holds: its length, with the bytes that it had before, and a hash of the last ones.
#[derive(Debug, Serialize, Deserialize)]
struct Held {
    last: Option<SequenceNumber>,
    length: u64,
    before: String,
}

/// A file that is appended to claims its length, and a hash of its last 4096 bytes: one that is longer is cut, and one
/// that is shorter, or has other bytes there, holds less. At a claim it is synced, unless its policy is `Never`. One
/// that is replaced or rotated is refused.
impl<A, C> ClaimingSink<A> for FileSinkOptions<C>
where
    A: for<'a> Shape<Ref<'a>: AsRef<[u8]>>,
    C: Clock + Clone + Send + 'static,
{
    type Open = FileSink<C>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<FileSink<C>, OpenError> {
        open(self, claim)
    }

    fn goes_back(&self) -> bool {
        true
    }
}

/// Opens the file at a claim, or as it is.
pub(super) fn open<C: Clock + Clone>(
    options: &FileSinkOptions<C>,
    claim: Option<(SequenceNumber, &Value)>,
) -> Result<FileSink<C>, OpenError> {
    if !options.can_resume() {
        let why = "a file that is replaced or rotated cannot go on after a crash: append to it";
        return Err(Error::new(ErrorKind::InvalidInput, format!("{}: {why}", options.path().display())).into());
    }
    let Some((next, claim)) = claim else { return Ok(options.clone().open()?) };
    let Held { last, length, before } = Held::deserialize(claim).map_err(Error::from)?;
    let holds_less = |why: String| OpenError::HoldsLess(format!("{}: {why}", options.path().display()));
    match hash_before(options.path(), length)? {
        Before::Bytes(hash) if hash == before => {}
        Before::Bytes(_) => {
            return Err(holds_less(format!("it has other bytes before byte {length} than this job has written")));
        }
        Before::Shorter(there) => {
            return Err(holds_less(format!("it has {there} bytes, and had {length} before number {next}")));
        }
    }
    Ok(options.clone().resume(Position { last, length }).open()?)
}

impl<C: Clock> Claims for FileSink<C> {
    fn claim(&mut self) -> io::Result<Value> {
        let Position { last, length } = self.synced_position()?;
        match hash_before(self.path(), length)? {
            Before::Bytes(before) => Ok(serde_json::to_value(Held { last, length, before })?),
            Before::Shorter(there) => {
                let why = format!("it has {there} bytes of {length}: another program has cut it");
                Err(Error::other(format!("{}: {why}", self.path().display())))
            }
        }
    }
}

enum Before {
    Bytes(String),
    /// The file has this many bytes.
    Shorter(u64),
}

fn hash_before(path: &Path, length: u64) -> io::Result<Before> {
    let named = |error| before::named(path, error);
    let mut file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Before::Shorter(0)),
        file => file.map_err(named)?,
    };
    let metadata = file.metadata().map_err(named)?;
    if !metadata.is_file() {
        let why = "only a regular file can be asked what it holds";
        return Err(named(Error::new(ErrorKind::InvalidInput, why)));
    }
    if metadata.len() < length {
        return Ok(Before::Shorter(metadata.len()));
    }
    file.seek(SeekFrom::Start(before::begin(length))).map_err(named)?;
    let hash = before::hash(length, &file).map_err(named)?;
    // Cut since it was measured.
    hash.map(Before::Bytes).ok_or_else(|| named(ErrorKind::UnexpectedEof.into()))
}
