mod options;
mod place;
mod sync;

pub use options::FileSinkOptions;
pub use sync::SyncPolicy;

use crate::named::named;
use crate::time::{Clock, SystemClock};
use millstream_core::SequenceNumber;
use place::Place;
use std::fs::File;
use std::io::{Result, Write};
use std::mem;
use std::path::{Path, PathBuf};
use sync::Syncing;

/// A file as the end of a run: the bytes of every value, one behind the other, and the number of the last.
///
/// [`replace`](FileSink::replace) makes a new file and gives it the name when it is [finished](FileSink::finish);
/// [`append`](FileSink::append) goes on behind what is there. A sink is the state of a run, and the closure of
/// `run_with` writes to it:
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Rings, Run};
/// use millstream_io::FileSink;
///
/// # let directory = tempfile::tempdir()?;
/// # let squares = directory.path().join("squares");
/// let p = pipeline::<u64>().map(|x| format!("{}\n", x * x));
/// let sink = FileSink::replace(&squares).open()?;
/// let (sink, _) = p.run_with(&Rings::new(), 0..4, sink, |sink, number, line| {
///     sink.write(number, line.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
/// })?;
/// assert!(!squares.exists(), "not before it is finished");
/// assert_eq!(sink.finish()?, Some(3.into()));
/// assert_eq!(std::fs::read_to_string(&squares)?, "0\n1\n4\n9\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The panic is how a sink's closure fails a run: the run's error has the words, and the number. The sink comes back from
/// a run that failed as well, by `Handle::join`, and [`last`](FileSink::last) says how far it has come.
///
/// # Going on
///
/// Numbers grow, and a value at a number that the sink has taken already is passed over. So a pipeline that is run
/// again, from number 0 on the same input, writes on where it stopped, with nothing twice and nothing left out: a
/// pipeline is determinate. For a run in another process, keep the [`position`](FileSink::position) and
/// [resume](FileSinkOptions::resume) there.
///
/// # Errors
///
/// Every error names the file and what could not be done: to open, write, sync, rotate or replace it. Behind one,
/// the sink is where [`last`](FileSink::last) says: what was taken behind that number is forgotten and can be written
/// again. The file is cut to whole values; where it cannot be (it is no regular file), a part of a value may stand at its
/// end.
///
/// # Dropped before it is finished
///
/// A new file is removed, and the old one stays as it was; a killed process leaves the new one beside it, as
/// `.NAME.PID.N.tmp`. An appended file gets what is in the buffer, and nobody hears whether it could be written.
#[derive(Debug)]
pub struct FileSink<C: Clock = SystemClock> {
    /// The name that the user gave.
    path: PathBuf,
    place: Place,
    file: File,
    /// Of the whole values in the file.
    length: u64,
    /// Whole values that are not in the file yet.
    buffer: Vec<u8>,
    capacity: usize,
    last: Option<SequenceNumber>,
    /// As `last`, with the values in the buffer.
    taken: Option<SequenceNumber>,
    syncing: Syncing<C>,
}

/// How far a file has been written. See [`FileSink::position`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// The number of the last value.
    pub last: Option<SequenceNumber>,
    /// The length of the file behind that value, in bytes.
    pub length: u64,
}

impl FileSink {
    /// A new file that takes the place of the one of this name, if there is one, at once and as a whole, when it is
    /// finished: whoever opens the name gets the old file or the new one. It has the permissions of the old one. Where the
    /// name is a link, what it leads to is replaced.
    pub fn replace(path: impl Into<PathBuf>) -> FileSinkOptions {
        FileSinkOptions::new(path.into(), false)
    }

    /// Goes on behind what is in the file; makes it if there is none. Nobody else may write to it meanwhile.
    pub fn append(path: impl Into<PathBuf>) -> FileSinkOptions {
        FileSinkOptions::new(path.into(), true)
    }
}

impl<C: Clock> FileSink<C> {
    /// Writes the value of this number, behind all before; passes over a number that it has taken already.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, synced or rotated: see [`FileSink`].
    pub fn write(&mut self, number: SequenceNumber, bytes: &[u8]) -> Result<()> {
        if self.taken >= Some(number) {
            return Ok(());
        }
        self.rotate_before(bytes.len())?;
        if self.buffer.len() + bytes.len() > self.capacity {
            self.flush()?;
        }
        if bytes.len() >= self.capacity {
            self.put(bytes, number)?;
        } else {
            self.buffer.extend_from_slice(bytes);
            self.taken = Some(number);
        }
        if self.syncing.due(self.buffer.len()) {
            self.flush()?;
            self.sync()?;
        }
        Ok(())
    }

    /// Writes what is in the buffer; syncs nothing.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let Some(number) = self.taken.filter(|_| self.taken != self.last) else { return Ok(()) };
        let mut bytes = mem::take(&mut self.buffer);
        self.put(&bytes, number)?;
        bytes.clear();
        self.buffer = bytes;
        Ok(())
    }

    /// The number of the last value that is whole in the file; none if there is none. Values in the
    /// [buffer](FileSinkOptions::buffered) do not count. What is in the file outlasts the process; whether it outlasts
    /// the machine is up to [`SyncPolicy`].
    pub fn last(&self) -> Option<SequenceNumber> {
        self.last
    }

    /// Flushes, and says how far the file has been written: where another process can
    /// [resume](FileSinkOptions::resume).
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn position(&mut self) -> Result<Position> {
        self.flush()?;
        Ok(Position { last: self.last, length: self.length })
    }

    /// Flushes, syncs unless told never to, and gives a new file its name. The number of the last value.
    ///
    /// # Errors
    ///
    /// If the file cannot be written, synced or given its name.
    pub fn finish(mut self) -> Result<Option<SequenceNumber>> {
        self.flush()?;
        if self.syncing.at_end() {
            self.sync()?;
        }
        self.place.arrive().map_err(|error| named(&self.path, "replace", error))?;
        if self.syncing.at_end() {
            self.place.sync_directory().map_err(|error| named(&self.path, "sync", error))?;
        }
        Ok(self.last)
    }

    /// Writes `bytes`, the last of which are the value of `number`, or none of them.
    fn put(&mut self, bytes: &[u8], number: SequenceNumber) -> Result<()> {
        if let Err(error) = self.file.write_all(bytes) {
            let _ = self.file.set_len(self.length); // the error that is told is the first
            return Err(self.forget("write", error));
        }
        self.length += bytes.len() as u64;
        self.syncing.written(bytes.len());
        (self.taken, self.last) = (Some(number), Some(number));
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        self.syncing.sync(&self.file).map_err(|error| named(&self.path, "sync", error))
    }

    /// Begins a new file if the current one has no room for so many bytes more.
    fn rotate_before(&mut self, bytes: usize) -> Result<()> {
        let full = (self.length + self.buffer.len() as u64).saturating_add(bytes as u64);
        if self.length + self.buffer.len() as u64 == 0 || !self.place.rotates_above(full) {
            return Ok(());
        }
        self.flush()?;
        if self.syncing.at_end() {
            self.sync()?;
        }
        match self.place.rotate() {
            Ok(file) => (self.file, self.length) = (file, 0),
            Err(error) => return Err(self.forget("rotate", error)),
        }
        if self.syncing.at_end() {
            self.place.sync_directory().map_err(|error| named(&self.path, "sync", error))?;
        }
        Ok(())
    }

    /// Forgets what is not in the file.
    fn forget(&mut self, doing: &'static str, error: std::io::Error) -> std::io::Error {
        self.buffer.clear();
        self.taken = self.last;
        named(&self.path, doing, error)
    }

    /// The name that the user gave.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl<C: Clock> Drop for FileSink<C> {
    fn drop(&mut self) {
        if self.place.keeps_unfinished() {
            let _ = self.flush(); // `finish` is there for those who want to hear of it
        }
    }
}
