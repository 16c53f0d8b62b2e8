use super::place::{Place, Rotation};
use super::sync::{SyncPolicy, Syncing};
use super::{FileSink, Position};
use crate::named::named;
use crate::time::{Clock, SystemClock};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::PathBuf;

/// How a [`FileSink`] is to write.
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct FileSinkOptions<C = SystemClock> {
    path: PathBuf,
    append: bool,
    rotation: Option<Rotation>,
    resume: Option<Position>,
    sync: SyncPolicy,
    capacity: usize,
    clock: C,
}

impl FileSinkOptions {
    pub(super) fn new(path: PathBuf, append: bool) -> Self {
        let clock = SystemClock::default();
        FileSinkOptions { path, append, rotation: None, resume: None, sync: SyncPolicy::default(), capacity: 0, clock }
    }
}

impl<C: Clock> FileSinkOptions<C> {
    /// When the file is synced; [`SyncPolicy::AtEnd`] unless chosen otherwise.
    pub fn sync(self, sync: SyncPolicy) -> Self {
        FileSinkOptions { sync, ..self }
    }

    /// Collects values of together up to `bytes` bytes before they are written, all with one system call. Without it every
    /// value is written when it comes.
    pub fn buffered(self, bytes: usize) -> Self {
        FileSinkOptions { capacity: bytes, ..self }
    }

    /// Keeps an appended file to at most `size` bytes: a value for which there is no room goes to a new file, and the old
    /// one is named NAME.1, an older one NAME.2 and so on to NAME.`keep`; the oldest goes. A value is never cut: one
    /// that is larger than `size` has a file to itself.
    ///
    /// # Panics
    ///
    /// If `keep` is 0.
    pub fn rotate(self, size: u64, keep: u32) -> Self {
        assert!(keep > 0, "a rotation keeps at least one old file");
        FileSinkOptions { rotation: Some(Rotation { size, keep }), ..self }
    }

    /// Goes on with an appended file behind this position, which a sink of the same file has [told](FileSink::position):
    /// what stands behind it is cut off, and numbers up to its last are passed over. The pipeline may so run again from
    /// number 0, or be fed from behind the last number.
    ///
    /// ```
    /// use millstream_io::FileSink;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # let log = directory.path().join("log");
    /// let mut sink = FileSink::append(&log).open()?;
    /// sink.write(0.into(), b"zero\n")?;
    /// let position = sink.position()?;
    /// sink.write(1.into(), b"on")?;
    /// drop(sink); // and here the machine is lost
    ///
    /// let mut sink = FileSink::append(&log).resume(position).open()?;
    /// for (number, line) in ["zero\n", "one\n"].iter().enumerate() {
    ///     sink.write((number as u64).into(), line.as_bytes())?;
    /// }
    /// assert_eq!(sink.finish()?, Some(1.into()));
    /// assert_eq!(std::fs::read_to_string(&log)?, "zero\none\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn resume(self, position: Position) -> Self {
        FileSinkOptions { resume: Some(position), ..self }
    }

    /// Tells the time for [`SyncPolicy::Every`]; in tests, a virtual one.
    pub fn clock<D: Clock>(self, clock: D) -> FileSinkOptions<D> {
        let FileSinkOptions { path, append, rotation, resume, sync, capacity, .. } = self;
        FileSinkOptions { path, append, rotation, resume, sync, capacity, clock }
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened; if it is to be rotated or replaced and is no regular file; if the options do not fit
    /// together: what is replaced is neither rotated nor resumed, and what is rotated cannot be resumed; and if the file
    /// is shorter than the position to resume at.
    pub fn open(self) -> Result<FileSink<C>> {
        let opened = self.check().and_then(|()| self.place());
        let (place, file, length) = opened.map_err(|error| named(&self.path, "open", error))?;
        let last = self.resume.and_then(|position| position.last);
        Ok(FileSink {
            path: self.path,
            place,
            file,
            length,
            buffer: Vec::new(),
            capacity: self.capacity,
            last,
            taken: last,
            syncing: Syncing::new(self.sync, self.clock),
        })
    }

    fn check(&self) -> Result<()> {
        let invalid = |words| Err(Error::new(ErrorKind::InvalidInput, words));
        match (self.append, self.rotation, self.resume) {
            (false, Some(_), _) => invalid("a file that is replaced cannot be rotated: append to it"),
            (false, _, Some(_)) => invalid("a file that is replaced begins anew: append to it to resume"),
            (true, Some(_), Some(_)) => {
                invalid("a file that is rotated cannot be resumed: its position may have moved")
            }
            _ => Ok(()),
        }
    }

    fn place(&self) -> Result<(Place, File, u64)> {
        if !self.append {
            return Place::beside(&self.path);
        }
        let (place, file, length) = Place::here(self.path.clone(), self.rotation)?;
        let Some(position) = self.resume else { return Ok((place, file, length)) };
        if length < position.length {
            let words = format!("it has {length} bytes, and is to be resumed behind {}", position.length);
            return Err(Error::new(ErrorKind::InvalidData, words));
        }
        file.set_len(position.length)?;
        Ok((place, file, position.length))
    }
}
