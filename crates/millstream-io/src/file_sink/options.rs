use super::place::{Place, Rotation};
use super::sync::{SyncPolicy, Syncing};
use super::{FileSink, Position};
use crate::named::named;
use crate::time::{Clock, SystemClock};
use std::fs::{self, File};
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The options of a [`FileSink`].
#[derive(Clone, Debug)]
#[must_use = "nothing is opened before `open`"]
pub struct FileSinkOptions<C = SystemClock> {
    path: PathBuf,
    append: bool,
    rotation: Option<Rotation>,
    resume: Option<Position>,
    sync: SyncPolicy,
    capacity: usize,
    flushes: bool,
    header: Vec<u8>,
    after: bool,
    clock: C,
}

/// The size of the buffer, in bytes. A system call then costs little for each value, and a cache holds the bytes.
const CAPACITY: usize = 64 * 1024;

impl FileSinkOptions {
    pub(super) fn new(path: PathBuf, append: bool) -> Self {
        let clock = SystemClock::default();
        let sync = SyncPolicy::default();
        let (capacity, flushes, header, after) = (CAPACITY, true, Vec::new(), false);
        FileSinkOptions { path, append, rotation: None, resume: None, sync, capacity, flushes, header, after, clock }
    }
}

impl<C: Clock> FileSinkOptions<C> {
    /// Sets when the file is synced; the default is [`SyncPolicy::AtEnd`].
    pub fn sync(self, sync: SyncPolicy) -> Self {
        FileSinkOptions { sync, ..self }
    }

    /// Sets the size of the buffer; the default is 64 KiB. Values of up to `bytes` bytes in all are written with one
    /// system call. With 0 every value is written at once.
    pub fn buffered(self, bytes: usize) -> Self {
        FileSinkOptions { capacity: bytes, ..self }
    }

    /// Keeps the buffer at a pause of the run, when no value is ready; the default is to write it. There are fewer
    /// system calls, and values wait in the buffer for later ones.
    pub fn keep_at_pauses(self) -> Self {
        FileSinkOptions { flushes: false, ..self }
    }

    /// Begins each empty file with these bytes: a new one, an empty one that is appended to, and each one after a
    /// [rotation](FileSinkOptions::rotate).
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*};
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let p = pipeline::<u64>().map(|x| format!("{x},{}\n", x * x));
    /// for numbers in [1..3, 3..4] {
    ///     (&p).from(numbers).to(FileSink::append("squares.csv").header("n,square\n").open()?).run()?;
    /// }
    /// assert_eq!(std::fs::read_to_string("squares.csv")?, "n,square\n1,1\n2,4\n3,9\n");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn header(self, bytes: impl Into<Vec<u8>>) -> Self {
        FileSinkOptions { header: bytes.into(), ..self }
    }

    /// Limits an appended file to `size` bytes. A value without room goes to a new file: the old file is named NAME.1,
    /// an older one NAME.2 and so on to NAME.`keep`, and the oldest is removed. A value is never cut: a value larger
    /// than `size` has a file to itself.
    ///
    /// # Panics
    ///
    /// If `keep` is 0.
    pub fn rotate(self, size: u64, keep: u32) -> Self {
        assert!(keep > 0, "a rotation keeps at least one old file");
        FileSinkOptions { rotation: Some(Rotation { size, keep }), ..self }
    }

    /// Continues an appended file at this [position](FileSink::position) of a sink of the same file. Later contents are
    /// cut off, and numbers up to the position's last are skipped. Thus the pipeline can run again from number 0, or
    /// from the number after the last.
    ///
    /// ```
    /// use millstream::io::FileSink;
    ///
    /// # let directory = tempfile::tempdir()?;
    /// # std::env::set_current_dir(&directory)?;
    /// let mut sink = FileSink::append("log").open()?;
    /// sink.write(0.into(), b"zero\n")?;
    /// let position = sink.position()?;
    /// sink.write(1.into(), b"on")?;
    /// drop(sink); // and here the machine is lost
    ///
    /// let mut sink = FileSink::append("log").resume(position).open()?;
    /// for (number, line) in ["zero\n", "one\n"].iter().enumerate() {
    ///     sink.write((number as u64).into(), line.as_bytes())?;
    /// }
    /// assert_eq!(sink.finish()?, Some(1.into()));
    /// assert_eq!(std::fs::read_to_string("log")?, "zero\none\n");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    pub fn resume(self, position: Position) -> Self {
        FileSinkOptions { resume: Some(position), ..self }
    }

    /// Sets the clock of [`SyncPolicy::Every`], for example a virtual one in tests.
    pub fn clock<D: Clock>(self, clock: D) -> FileSinkOptions<D> {
        let FileSinkOptions { path, append, rotation, resume, sync, capacity, flushes, header, after, .. } = self;
        FileSinkOptions { path, append, rotation, resume, sync, capacity, flushes, header, after, clock }
    }

    /// Lets the first start of a job that keeps its state append to a file that has contents. Otherwise the job refuses
    /// the file, since its state may be lost, and it would write all its values a second time. A run without a state
    /// appends to any file.
    pub fn after_contents(self) -> Self {
        FileSinkOptions { after: true, ..self }
    }

    /// Opens the file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened; if it is to be rotated or replaced and is no regular file; if the options contradict
    /// each other: a replaced file is neither rotated nor resumed, and a rotated file cannot be resumed; or if the file
    /// is shorter than the position to resume at.
    pub fn open(self) -> Result<FileSink<C>> {
        let opened = self.check().and_then(|()| self.place());
        let (place, file, length) = opened.map_err(|error| named(&self.path, "open", error))?;
        let last = self.resume.and_then(|position| position.last);
        let mut sink = FileSink {
            path: self.path,
            place,
            file,
            length,
            buffer: Vec::new(),
            capacity: self.capacity,
            flushes: self.flushes,
            header: self.header,
            last,
            taken: last,
            syncing: Syncing::new(self.sync, self.clock),
            keeps_name: false,
        };
        sink.put_header()?;
        Ok(sink)
    }

    /// The file's name as the user wrote it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it can go on at a [position](FileSink::position) in another process: it is appended to, and not rotated.
    pub fn can_resume(&self) -> bool {
        self.append && self.rotation.is_none()
    }

    /// Refuses a file with contents other than its [header](FileSinkOptions::header), for a job that begins at its
    /// first number; not if the options say [where](FileSinkOptions::resume) or
    /// [that](FileSinkOptions::after_contents) it goes on.
    ///
    /// # Errors
    ///
    /// [`AlreadyExists`](ErrorKind::AlreadyExists), with the file's name and length; or if the file cannot be read.
    pub fn refuse_contents(&self) -> Result<()> {
        if self.after || self.resume.is_some() {
            return Ok(());
        }
        let of_file = |error| named(&self.path, "open", error);
        let length = match fs::metadata(&self.path) {
            Ok(file) if file.is_file() => file.len(),
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(of_file(error)),
            _ => 0,
        };
        let is_header = |length| length == self.header.len() as u64;
        if length == 0 || is_header(length) && fs::read(&self.path).map_err(of_file)? == self.header {
            return Ok(());
        }
        let words = format!(
            "it has {length} bytes already, and no snapshot says which values they are, so a job that begins would \
             write its values after them. If the state directory was lost, bring it back, or move the file away; to \
             append all the same, add `.after_contents()` to the `FileSink`"
        );
        Err(of_file(Error::new(ErrorKind::AlreadyExists, words)))
    }

    fn check(&self) -> Result<()> {
        let invalid = |words| Err(Error::new(ErrorKind::InvalidInput, words));
        match (self.append, self.rotation, self.resume) {
            (false, Some(_), _) => invalid("a replaced file cannot be rotated: append to it"),
            (false, _, Some(_)) => invalid("a replaced file cannot be resumed: append to it"),
            (true, Some(_), Some(_)) => invalid("a rotated file cannot be resumed: its position may have moved"),
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
            let words = format!("it has only {length} bytes, so it cannot be resumed at byte {}", position.length);
            return Err(Error::new(ErrorKind::InvalidData, words));
        }
        file.set_len(position.length)?;
        Ok((place, file, position.length))
    }
}
