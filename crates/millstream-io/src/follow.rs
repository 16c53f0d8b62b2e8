mod next_file;
mod places;
pub mod rotated;

pub use next_file::NextFile;
pub use places::{FollowPlace, FollowPlaces};

use crate::named::named;
use crate::time::{Clock, SystemClock};
use rotated::{Unseen, identity};
use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// A file that other programs write to, as a reader that waits for more at its end, like `tail -F`.
/// [`Blocks`](crate::Blocks) of it are a source.
///
/// It follows the name, not the file. If another file gets the name, the old one is read to its end and then the new
/// one from its beginning (rotation by renaming). If the file becomes shorter than its read part, it is read from its
/// beginning again (rotation by truncation). If there is no file of the name, also at first, it waits for one. At the
/// end of the file it checks all of this once an [`interval`](Follow::interval).
///
/// Where other contents begin, a read fails once with [`NextFile`], and is to be repeated. A line that an old file does
/// not end, as that of a writer that was killed, ends with the file: [`WholeBlocks`](crate::WholeBlocks) do not join it
/// to the first line of the next one.
///
/// A file that had the name only between two checks is read, too, if its name is now this one with a number or a date
/// (`log.1`, `log-20261128`, for `a.log` also `a-20261128.log`) and it was made since the first of them. Other events
/// between two checks can be missed, as with `tail`. Such a file under another name, or compressed, is not read. Bytes
/// that were written after a check and truncated before the next one are not read. A truncated file that is as long
/// again at the next check is taken for one that has grown.
///
/// It ends by its [stopper](Follow::stopper). The run ends once all bytes that were read have passed through it.
///
/// ```
/// use millstream::{io::{Block, Blocks, Follow}, prelude::*};
/// use std::fs;
/// use std::io::Write;
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// fs::write("log", "one\n")?;
/// let follow = Follow::new("log");
/// let stopper = follow.stopper();
/// let p = pipeline::<Block>().map(|block| block.to_vec());
/// let job = (&p)
///     .from(Blocks::new(follow))
///     .to_fold(Vec::new(), |all: &mut Vec<u8>, _, bytes| all.extend(bytes));
/// let run = Rings::new().start(job)?;
///
/// fs::OpenOptions::new().append(true).open("log")?.write_all(b"two\n")?;
/// stopper.stop();
/// let (all, _) = run.wait()?;
/// assert_eq!(all, b"one\ntwo\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// If the file is there and cannot be opened or read, and if it is not a regular file. The error names it.
#[derive(Debug)]
pub struct Follow<C = SystemClock> {
    path: PathBuf,
    /// `None` while there is no file of the name.
    current: Option<Current>,
    /// The files that come next: those that had the name meanwhile, and the one that had it when they were looked for.
    next: VecDeque<File>,
    unseen: Unseen,
    /// Where the first file is read from.
    from: From,
    /// The bytes that were read, of all files.
    read: u64,
    places: FollowPlaces,
    interval: Duration,
    stop: FollowStopper,
    phase: Phase,
    /// Whether the next bytes are of other contents than those that were read.
    is_next: bool,
    clock: C,
}

/// Ends a [`Follow`] from any thread. Clones end the same one.
#[derive(Clone, Debug, Default)]
pub struct FollowStopper(Arc<AtomicBool>);

impl FollowStopper {
    /// Ends the reader. Bytes that the file of the name has when the reader notices this are still read, and so is the
    /// rest of a file that had the name before. Later bytes are not read. The reader notices this at most one interval
    /// later.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn stopped(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

#[derive(Debug)]
struct Current {
    file: File,
    /// Device and inode, which no other file has while this one is open.
    identity: (u64, u64),
    /// The bytes that were read.
    position: u64,
    /// The end of the bytes to be read.
    limit: u64,
    /// Whether it has lost its name, and is read for the last time.
    read_to_end: bool,
}

/// Where a file is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum From {
    #[default]
    Beginning,
    Offset(u64),
    End,
}

/// The phase of the reader's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Following,
    /// The stopper was used: reads the rest of the current file, then the file that has its name by now.
    Stopping,
    /// Reads the rest of the last files.
    Last,
}

impl Follow {
    /// The default of the time that it waits at the end of the file.
    pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);

    /// Follows the file of this name from its beginning.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::by(SystemClock::default(), path)
    }
}

impl<C: Clock> Follow<C> {
    /// As [`new`](Follow::new), with a clock for the waits.
    pub fn by(clock: C, path: impl Into<PathBuf>) -> Self {
        Follow {
            path: path.into(),
            current: None,
            next: VecDeque::new(),
            unseen: Unseen::default(),
            from: From::Beginning,
            read: 0,
            places: FollowPlaces::default(),
            interval: Follow::DEFAULT_INTERVAL,
            stop: FollowStopper::default(),
            phase: Phase::Following,
            is_next: false,
            clock,
        }
    }

    /// Sets the time that it waits at the end of the file before it checks again.
    #[must_use]
    pub fn interval(self, interval: Duration) -> Self {
        Follow { interval, ..self }
    }

    /// Skips the contents that the file has at the first check. A file that did not exist then is read from its
    /// beginning, and so is every later one.
    #[must_use]
    pub fn from_end(self) -> Self {
        Follow { from: From::End, ..self }
    }

    /// Skips this many bytes of the file that is there at the first check, or all of it if it is shorter. A file that
    /// did not exist then is read from its beginning, and so is every later one.
    #[must_use]
    pub fn from_offset(self, bytes: u64) -> Self {
        Follow { from: From::Offset(bytes), ..self }
    }

    /// Reads this open file first, which has the name or had it, and skips this many bytes of it. The file of the name
    /// follows, if that is another one by then.
    ///
    /// # Errors
    ///
    /// If it is not a regular file, or the system refuses.
    pub fn from_file(mut self, mut file: File, bytes: u64) -> Result<Self> {
        let metadata = file.metadata().map_err(|error| named(&self.path, "read", error))?;
        if !metadata.is_file() {
            return Err(named(&self.path, "read", not_regular()));
        }
        let position = file.seek(SeekFrom::Start(bytes)).map_err(|error| named(&self.path, "read", error))?;
        let now = SystemTime::now();
        match fs::metadata(&self.path) {
            Ok(named) if identity(&named) == identity(&metadata) => self.unseen.seen(now),
            _ => self.unseen.seen_before(&metadata),
        }
        self.unseen.reads(&metadata);
        let identity = identity(&metadata);
        self.places.add(self.read, identity, position);
        self.current = Some(Current { file, identity, position, limit: u64::MAX, read_to_end: false });
        Ok(self)
    }

    /// No file has had the name since this time.
    #[doc(hidden)]
    #[must_use]
    pub fn absent_since(mut self, time: SystemTime) -> Self {
        self.unseen.seen(time);
        self
    }

    /// Says of the bytes that were read in which files they are.
    pub fn places(&self) -> FollowPlaces {
        self.places.clone()
    }

    /// A stopper of this reader.
    pub fn stopper(&self) -> FollowStopper {
        self.stop.clone()
    }

    /// Reads bytes of the current file, up to its limit; 0 if there are none.
    fn read_current(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(current) = &mut self.current else { return Ok(0) };
        let left = usize::try_from(current.limit - current.position).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let read = current.file.read(&mut buffer[..most]).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => named(&self.path, "read", error),
        })?;
        current.position += read as u64;
        self.read += read as u64;
        Ok(read)
    }

    /// Checks which file has the name. Returns whether there may be something to read.
    fn look(&mut self) -> Result<bool> {
        let (from, now) = (mem::take(&mut self.from), SystemTime::now());
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if self.current.is_none() {
                    self.unseen.seen(now);
                }
                return Ok(false);
            }
            metadata => metadata.map_err(|error| named(&self.path, "open", error))?,
        };
        let Some(current) = &mut self.current else { return self.open(&metadata, from, now) };
        let same = current.identity == identity(&metadata);
        if same {
            self.unseen.seen(now);
        }
        if same && metadata.len() >= current.position {
            return Ok(false);
        }
        if !same && current.read_to_end {
            return self.open(&metadata, From::Beginning, now);
        }
        if same {
            current.file.rewind().map_err(|error| named(&self.path, "read", error))?;
            current.position = 0;
            self.is_next = true;
            self.places.add(self.read, current.identity, 0);
        } else {
            // It may have grown between the last read and the loss of its name.
            current.read_to_end = true;
        }
        self.limit(same)?;
        Ok(true)
    }

    /// Opens the file that has the name at this time, and those that had it since the last look and are read before.
    /// Returns whether it still exists.
    fn open(&mut self, metadata: &Metadata, from: From, now: SystemTime) -> Result<bool> {
        let file = match open_regular(&self.path, metadata) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => opened.map_err(|error| named(&self.path, "open", error))?,
        };
        let last = self.current.as_ref().map(|current| &current.file);
        let is = file.metadata().map_err(|error| named(&self.path, "read", error))?;
        let between = self.unseen.files(&self.path, last, Some(&is));
        self.next = between.map_err(|error| named(&self.path, "open", error))?.into();
        self.next.push_back(file);
        self.unseen.seen(now);
        if self.phase != Phase::Following {
            self.phase = Phase::Last;
        }
        self.begin_next(from)
    }

    /// Goes on with the next file. Returns whether there is one.
    fn begin_next(&mut self, from: From) -> Result<bool> {
        let Some(file) = self.next.pop_front() else { return Ok(false) };
        let began = self.begin(file, from);
        began.map_err(|error| named(&self.path, "read", error))?;
        self.limit(false)?;
        Ok(true)
    }

    fn begin(&mut self, file: File, from: From) -> Result<()> {
        self.unseen.reads(&file.metadata()?);
        let opened = Current::of(file, from)?;
        self.places.add(self.read, opened.identity, opened.position);
        self.is_next = self.current.is_some();
        self.current = Some(opened);
        Ok(())
    }

    /// Once stopped, limits the current file to its contents by now. `last` is whether no file follows it.
    fn limit(&mut self, last: bool) -> Result<()> {
        if self.phase == Phase::Following {
            return Ok(());
        }
        if last {
            self.phase = Phase::Last;
        }
        let Some(current) = &mut self.current else { return Ok(()) };
        let length = current.file.metadata().map_err(|error| named(&self.path, "read", error))?.len();
        current.limit = length.max(current.position);
        Ok(())
    }
}

impl<C: Clock> Read for Follow<C> {
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.phase == Phase::Following && self.stop.stopped() {
                self.phase = Phase::Stopping;
                self.limit(false)?;
            }
            if mem::take(&mut self.is_next) {
                return Err(NextFile.into());
            }
            let read = self.read_current(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if self.begin_next(From::Beginning)? {
                continue;
            }
            if self.phase == Phase::Last {
                return Ok(0);
            }
            if self.look()? {
                continue;
            }
            if self.phase == Phase::Stopping {
                return Ok(0);
            }
            self.clock.sleep(self.interval);
        }
    }
}

impl Current {
    fn of(mut file: File, from: From) -> Result<Self> {
        let identity = identity(&file.metadata()?);
        let position = match from {
            From::Beginning => 0,
            From::Offset(offset) => {
                let length = file.metadata()?.len();
                file.seek(SeekFrom::Start(offset.min(length)))?
            }
            From::End => file.seek(SeekFrom::End(0))?,
        };
        Ok(Current { file, identity, position, limit: u64::MAX, read_to_end: false })
    }
}

fn not_regular() -> Error {
    Error::new(ErrorKind::InvalidInput, "only a regular file can be followed")
}

fn open_regular(path: &Path, metadata: &Metadata) -> Result<File> {
    if metadata.is_file() { File::open(path) } else { Err(not_regular()) }
}
