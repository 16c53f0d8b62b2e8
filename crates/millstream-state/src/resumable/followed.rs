//! A file that grows, and is rotated.

mod beginning;
mod inode;
mod rotated;
mod stored;

use super::{Places, Resumable};
use crate::before::named;
use inode::of_inode;
use millstream_core::text::Block;
use millstream_io::{Failure, Follow, FollowPlace, FollowPlaces, FollowStopper, NextFile, WholeBlocks};
use rotated::{Rotated, RotatedBytes};
use serde_json::Value;
use std::fs::File;
use std::io::{self, Chain, Error, ErrorKind, Read, Seek, SeekFrom};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use stored::{Position, Stored};

/// A file that other programs write to, as a source of blocks of whole lines that waits for more, and can begin in the
/// middle: [`Follow`] with a position.
///
/// A position is a file, by its inode, and the bytes of it that were read. If the file was rotated by renaming while no
/// process followed it, the one of that inode in the same directory is read to its end first, and then the one that has
/// the name. Files that had the name in between are read before that, if their names are this one with a number or a
/// date (`log.1`, `log-20261128`, for `a.log` also `a-20261128.log`); under other names, or compressed, they are not
/// read. What is written to the last of them until another file has the name is read as well. If no file had the name
/// at the first start, the position is that time, and every file is read that has got the name since. A file that is
/// gone, was emptied or has other bytes before the position is an error: its unread bytes are lost, and only a person
/// can accept that. A position at the beginning of a file knows the bytes that it had by then; of an empty file, none.
///
/// Lines are the same in every process. One that its file does not end, as that of a writer that was killed, ends with
/// the file. The cuts between blocks depend on what was there when the file was read, so the numbers before a stage
/// that splits blocks into lines can differ. A sink that [skips](crate::ClaimingSink::skips) numbers, such as a table,
/// and effects come after such a stage. [`stopper`](FollowedFile::stopper) ends it.
///
/// ```
/// use millstream::state::{FollowedFile, Places, Resumable};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// std::fs::write("log", "one\n")?;
/// let log = FollowedFile::new("log");
/// let mut blocks = log.begin(None)?;
/// assert_eq!(blocks.next().as_deref(), Some(&b"one\n"[..]));
/// let position = log.position(&blocks.place())?;
/// drop(blocks);
///
/// std::fs::write("log", "one\ntwo\n")?;
/// std::fs::rename("log", "log.1")?;
/// std::fs::write("log", "three\n")?;
/// let mut blocks = log.begin(Some(&position))?;
/// assert_eq!(blocks.next().as_deref(), Some(&b"two\n"[..]));
/// assert_eq!(blocks.next().as_deref(), Some(&b"three\n"[..]));
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct FollowedFile {
    path: PathBuf,
    interval: Duration,
    stopper: Arc<Mutex<Stop>>,
    /// The failure of the values that began last.
    failure: Arc<Mutex<Option<Failure>>>,
    begun: Arc<Mutex<Option<Begun>>>,
}

/// Whether it is to stop, and the reader that does.
#[derive(Debug, Default)]
struct Stop {
    stopped: bool,
    reader: Option<FollowStopper>,
}

/// Ends a [`FollowedFile`] from any thread.
#[derive(Clone, Debug)]
pub struct FollowedFileStopper(Arc<Mutex<Stop>>);

impl FollowedFileStopper {
    /// Ends its values after the bytes that the file has when the source notices this call.
    pub fn stop(&self) {
        let mut stop = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stop.stopped = true;
        if let Some(reader) = &stop.reader {
            reader.stop();
        }
    }
}

/// Where the values that began last are.
#[derive(Clone, Debug)]
struct Begun {
    places: FollowPlaces,
    /// The files that are read before those of the places: where the reading of each began, and how many bytes of it
    /// are read.
    rest: Vec<(FollowPlace, u64)>,
    /// The position where it began: it is still there while no file was opened.
    from: Value,
}

impl Begun {
    /// The place of the byte after the first `read` ones, if a file was opened.
    fn place(&self, read: u64) -> Option<FollowPlace> {
        let mut left = read;
        for (place, bytes) in &self.rest {
            if left < *bytes {
                return Some(FollowPlace { offset: place.offset + left, ..*place });
            }
            left -= bytes;
        }
        self.places.of(left)
    }
}

impl FollowedFile {
    /// The file of this name; if there is none, the one that gets the name.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        FollowedFile {
            path: path.into(),
            interval: Follow::DEFAULT_INTERVAL,
            stopper: Arc::default(),
            failure: Arc::default(),
            begun: Arc::default(),
        }
    }

    /// Sets the time that it waits at the end of the file before it looks again.
    #[must_use]
    pub fn interval(self, interval: Duration) -> Self {
        FollowedFile { interval, ..self }
    }

    /// A handle that ends it from any thread.
    pub fn stopper(&self) -> FollowedFileStopper {
        FollowedFileStopper(self.stopper.clone())
    }
}

/// The rest of files that were rotated away, and then the last one of them and the one that has the name.
type Rest = Chain<RotatedBytes, Follow>;

/// The blocks of a [`FollowedFile`].
#[derive(Debug)]
pub struct FollowedLines {
    blocks: WholeBlocks<FollowedBytes>,
    read: u64,
    is_whole: bool,
}

/// The bytes of a [`FollowedFile`]. Where another file begins, also at first if they begin at a position before the
/// first byte of a file, a read fails once with [`NextFile`], and is to be repeated, as by `Blocks`.
#[derive(Debug)]
pub struct FollowedBytes {
    reader: Reader,
    is_next: bool,
}

#[derive(Debug)]
enum Reader {
    Named(Follow),
    AfterRest(Box<Rest>),
    /// The bytes between two positions: those of one file, or the rest of a file and the beginning of the one that got
    /// its name.
    Between(RotatedBytes),
}

impl Read for FollowedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if mem::take(&mut self.is_next) {
            return Err(NextFile.into());
        }
        match &mut self.reader {
            Reader::Named(follow) => follow.read(buffer),
            Reader::AfterRest(rest) => rest.read(buffer),
            Reader::Between(between) => between.read(buffer),
        }
    }
}

impl FollowedFile {
    /// Its bytes from a [position](Resumable::position) on, for a source of something other than lines. A mark is the
    /// number of those bytes that were passed on.
    ///
    /// # Errors
    ///
    /// As [`begin`](Resumable::begin).
    pub fn bytes(&self, position: Option<&Value>) -> io::Result<FollowedBytes> {
        let follow = Follow::new(&self.path).interval(self.interval);
        let mut is_next = false;
        let (follow, rest, from) = match position {
            None => {
                let (follow, from) = self.first(follow)?;
                (follow, Vec::new(), from)
            }
            Some(position) => {
                let (follow, rest) = match self.stored(position)? {
                    Position::Absent(since) => self.since(follow, since)?,
                    Position::In(stored) => {
                        is_next = stored.offset == 0;
                        self.found(follow, &stored)?
                    }
                };
                (follow, rest, position.clone())
            }
        };
        {
            let mut stop = self.stopper.lock().unwrap_or_else(PoisonError::into_inner);
            let stopper = follow.stopper();
            if stop.stopped {
                stopper.stop();
            }
            stop.reader = Some(stopper);
        }
        let places = follow.places();
        let parts = rest.iter().map(Rotated::part).collect();
        let begun = Begun { places, rest: parts, from };
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(begun);
        let reader = match rest.is_empty() {
            true => Reader::Named(follow),
            false => Reader::AfterRest(Box::new(RotatedBytes::of(rest).chain(follow))),
        };
        Ok(FollowedBytes { reader, is_next })
    }
}

impl FollowedFile {
    /// Its bytes between two positions. `total` is how many they are, if that is known: then the file may have been
    /// rotated once between the two.
    ///
    /// # Errors
    ///
    /// If those bytes cannot be found again: a file is gone or has changed, or was rotated in between.
    pub fn bytes_between(&self, from: Option<&Value>, to: &Value, total: Option<u64>) -> io::Result<FollowedBytes> {
        let from = match from.map(|from| self.stored(from)).transpose()? {
            None | Some(Position::Absent(_)) => None,
            Some(Position::In(from)) => Some(from),
        };
        let rotated = || {
            let why = "it was rotated between the two snapshots, so the bytes between them are not known any more";
            named(&self.path, Error::new(ErrorKind::NotFound, why))
        };
        let Position::In(to) = self.stored(to)? else {
            let is_empty = from.is_none() && total.is_none_or(|total| total == 0);
            let none = is_empty.then(|| RotatedBytes::parts([])).ok_or_else(rotated)?;
            return Ok(FollowedBytes { reader: Reader::Between(none), is_next: false });
        };
        // Without a file at first, it may have been rotated at any time.
        let is_known = from.is_some() || total.is_some();
        let from = from.unwrap_or_else(|| Stored { offset: 0, before: String::new(), begins: None, ..to.clone() });
        let ((_, mut first), (_, last)) = (self.checked(&from)?, self.checked(&to)?);
        let (first_is, last_is) = (first.metadata()?, last.metadata()?);
        let same = (first_is.dev(), first_is.ino()) == (last_is.dev(), last_is.ino());
        let end = if same { to.offset } else { first_is.len() };
        let bytes =
            end.checked_sub(from.offset).filter(|_| is_known && (same || total.is_some())).ok_or_else(rotated)?;
        let rest = if same { 0 } else { to.offset };
        if total.is_some_and(|total| total != bytes + rest) {
            return Err(rotated());
        }
        first.seek(SeekFrom::Start(from.offset))?;
        let reader = Reader::Between(RotatedBytes::parts([first.take(bytes), last.take(rest)]));
        Ok(FollowedBytes { reader, is_next: from.offset == 0 })
    }

    fn stored(&self, position: &Value) -> io::Result<Position> {
        Position::read(position).map_err(|error| named(&self.path, error))
    }

    /// The file of a place, and its name now, if the bytes before the place are the same as then.
    fn checked(&self, stored: &Stored) -> io::Result<(PathBuf, File)> {
        let Stored { path, device, inode, offset, .. } = stored;
        if *path != self.path {
            let why = format!("its name was {} when the snapshot was taken: follow the same name", path.display());
            return Err(named(&self.path, Error::new(ErrorKind::InvalidInput, why)));
        }
        let (there, mut file) = match of_inode(&self.path, Some(*device), *inode)? {
            Some(found) => found,
            // A reboot may give the device another number. Then the bytes before the place say which file it is, or the
            // name if there are none.
            None => {
                let found = of_inode(&self.path, None, *inode)?;
                found
                    .filter(|(there, _)| stored.knows_bytes() || *there == self.path)
                    .ok_or_else(|| self.gone(*inode))?
            }
        };
        if let Some(bytes) = stored.changed(&mut file)? {
            let when = if *offset > 0 { "they were read" } else { "a snapshot was taken" };
            let why = format!(
                "its bytes before byte {bytes} have changed since {when}, as in a file that was emptied. What was not \
                 read of it is lost; a new state directory begins anew"
            );
            return Err(named(&there, Error::new(ErrorKind::InvalidData, why)));
        }
        file.rewind()?;
        Ok((there, file))
    }
}

impl Resumable<Block> for FollowedFile {
    /// The bytes that were passed on.
    type Mark = u64;
    type Values = FollowedLines;
    const WAITS: bool = true;

    fn repeats(&self) -> bool {
        false
    }

    fn between(&self, from: Option<&Value>, to: &Value) -> io::Result<FollowedLines> {
        Ok(self.lines(self.bytes_between(from, to, None)?))
    }

    fn can_begin(&self, position: &Value) -> io::Result<()> {
        match self.stored(position)? {
            Position::Absent(_) => Ok(()),
            Position::In(stored) => self.checked(&stored).map(drop),
        }
    }

    fn begin(&self, position: Option<&Value>) -> io::Result<FollowedLines> {
        Ok(self.lines(self.bytes(position)?))
    }

    fn position(&self, read: &u64) -> io::Result<Value> {
        let begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let begun = begun.ok_or_else(|| Error::other("it has not begun"))?;
        let place = begun.place(*read);
        // No file was opened yet.
        let Some(FollowPlace { device, inode, offset }) = place else { return Ok(begun.from) };
        let (_, mut file) = of_inode(&self.path, Some(device), inode)?.ok_or_else(|| self.gone(inode))?;
        let stored = Stored::of(self.path.clone(), &mut file, offset)?.ok_or_else(|| self.gone(inode))?;
        begun.places.forget(read.saturating_sub(begun.rest.iter().map(|(_, bytes)| bytes).sum()));
        Ok(serde_json::to_value(stored)?)
    }

    fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).take()?.take()
    }
}

impl FollowedFile {
    fn lines(&self, bytes: FollowedBytes) -> FollowedLines {
        let blocks = WholeBlocks::lines(bytes);
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(blocks.failure());
        FollowedLines { blocks, read: 0, is_whole: true }
    }

    fn gone(&self, inode: u64) -> Error {
        let why = format!(
            "the file that was read, of inode {inode}, is no longer in its directory, or is shorter now. What was not \
             read of it is lost; a new state directory begins anew"
        );
        named(&self.path, Error::new(ErrorKind::NotFound, why))
    }
}

impl Iterator for FollowedLines {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let block = self.blocks.next()?;
        self.read += block.len() as u64;
        self.is_whole = block.ends_with(b"\n");
        Some(block)
    }
}

impl Places for FollowedLines {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.read
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }
}
