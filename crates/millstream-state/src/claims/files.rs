//! Appended files.

use super::{ClaimingSink, Claims, OpenError};
use crate::before;
use millstream_core::{Lends, SequenceNumber};
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
/// that is replaced or rotated is refused; so is, without a claim, one that [has
/// contents](FileSinkOptions::after_contents).
impl<A, C> ClaimingSink<A> for FileSinkOptions<C>
where
    A: Lends<Lent: AsRef<[u8]>>,
    C: Clock + Clone + Send + 'static,
{
    type Open = FileSink<C>;

    fn open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<FileSink<C>, OpenError> {
        open(self, claim)
    }

    fn can_open(&self, claim: Option<(SequenceNumber, &Value)>) -> Result<(), OpenError> {
        begins(self, claim).map(drop)
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
    Ok(at(options, begins(options, claim)?).open()?)
}

/// The position at which the file is opened at a claim; none if it is opened as it is.
pub(super) fn begins<C: Clock + Clone>(
    options: &FileSinkOptions<C>,
    claim: Option<(SequenceNumber, &Value)>,
) -> Result<Option<Position>, OpenError> {
    can_go_on(options)?;
    if claim.is_none() {
        options.refuse_contents()?;
    }
    claim.map(|(next, claim)| held(options, next, claim)).transpose()
}

/// Opens several appended files, in their order, each at its part of a claim, or as it is. No file is opened, and thus
/// none is cut, before all are known to hold what they claimed.
///
/// Together they are the sink of a job, whose claim is a list of theirs.
///
/// ```
/// use millstream::{io::FileSink, prelude::*, state::{Claims, OpenError, claims::open_together}};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let files = [FileSink::append("one"), FileSink::append("two")];
/// let mut open = open_together(&files, None)?;
/// open[0].write(0.into(), b"a")?;
/// let claims = open.iter_mut().map(Claims::claim).collect::<Result<Vec<_>, _>>()?;
/// open[0].write(1.into(), b"b")?;
/// drop(open);
///
/// drop(open_together(&files, Some((1.into(), &claims)))?);
/// assert_eq!(std::fs::read("one")?, b"a");
/// std::fs::write("one", "")?;
/// let why = open_together(&files, Some((1.into(), &claims))).unwrap_err();
/// assert_eq!(why.to_string(), "one: it has 0 bytes, and had 1 when number 1 came next");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// As [`ClaimingSink::open`], of the first file that has one.
pub fn open_together<C: Clock + Clone>(
    files: &[FileSinkOptions<C>],
    claims: Option<(SequenceNumber, &[Value])>,
) -> Result<Vec<FileSink<C>>, OpenError> {
    files.iter().try_for_each(can_go_on)?;
    let positions: Vec<Option<Position>> = match claims {
        None => {
            files.iter().try_for_each(FileSinkOptions::refuse_contents)?;
            vec![None; files.len()]
        }
        Some((_, claims)) if claims.len() != files.len() => {
            let why = format!("the snapshot is of {} output files, and the sink has {}", claims.len(), files.len());
            return Err(Error::new(ErrorKind::InvalidData, why).into());
        }
        Some((next, claims)) => {
            let held = files.iter().zip(claims).map(|(file, claim)| held(file, next, claim).map(Some));
            held.collect::<Result<_, _>>()?
        }
    };
    files.iter().zip(positions).map(|(file, position)| Ok(at(file, position).open()?)).collect()
}

fn can_go_on<C: Clock>(options: &FileSinkOptions<C>) -> io::Result<()> {
    if options.can_resume() {
        return Ok(());
    }
    let why = "a file that is replaced or rotated cannot go on after a crash: append to it";
    Err(Error::new(ErrorKind::InvalidInput, format!("{}: {why}", options.path().display())))
}

fn at<C: Clock + Clone>(options: &FileSinkOptions<C>, position: Option<Position>) -> FileSinkOptions<C> {
    match position {
        None => options.clone(),
        Some(position) => options.clone().resume(position),
    }
}

/// The position at which the file is cut, so that it holds what it had claimed before this number.
fn held<C: Clock + Clone>(
    options: &FileSinkOptions<C>,
    next: SequenceNumber,
    claim: &Value,
) -> Result<Position, OpenError> {
    let Held { last, length, before } = Held::deserialize(claim).map_err(Error::from)?;
    let holds_less = |why: String| OpenError::HoldsLess(format!("{}: {why}", options.path().display()));
    match hash_before(options.path(), length)? {
        Before::Bytes(hash) if hash == before => {}
        Before::Bytes(_) => {
            return Err(holds_less(format!("its bytes before byte {length} are not those that this job wrote")));
        }
        Before::Shorter(0) if length == 0 => {}
        Before::Shorter(there) => {
            return Err(holds_less(format!("it has {there} bytes, and had {length} when number {next} came next")));
        }
    }
    Ok(Position { last, length })
}

impl<C: Clock> Claims for FileSink<C> {
    fn claim(&mut self) -> io::Result<Value> {
        let Position { last, length } = self.synced_position()?;
        match hash_before(self.path(), length)? {
            Before::Bytes(before) => Ok(serde_json::to_value(Held { last, length, before })?),
            Before::Shorter(there) => {
                let why = format!("it has {there} bytes, and {length} were written: another program has cut it");
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
        let why = "only a regular file can say what it holds after a crash";
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
