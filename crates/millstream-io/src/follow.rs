use crate::named::named;
use crate::time::{Clock, SystemClock};
use std::fs::{self, File, Metadata};
use std::io::{Error, ErrorKind, Read, Result, Seek, SeekFrom};
use std::mem;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A file that others go on writing, as a reader that waits for more at its end, like `tail -F`.
/// [`Blocks`](crate::Blocks) of it are a source.
///
/// The name counts, not the file. If another file gets the name, the old one is read to its end and then the new one
/// from its beginning (rotation by renaming). If the file gets shorter than what was read of it, it is read from its
/// beginning again (rotation by truncation). While there is no file of the name it is waited for, before the first as
/// well. At the end of the file all of that is looked at once an [`interval`](Follow::interval).
///
/// What happens between two looks can be missed, as with `tail`: a file that had the name only in between is not read; nor
/// is what was written behind the last look and then truncated away; and a file that was truncated and is as long
/// again by the next look is taken for one that has grown.
///
/// It ends when it is [told to](Follow::stopper): the run is over when all that was read has gone through it.
///
/// ```
/// use millstream_core::{Arrow, pipeline};
/// use millstream_exec::{Rings, Run};
/// use millstream_io::{Block, Blocks, Follow};
/// use std::fs;
/// use std::io::Write;
///
/// # let directory = tempfile::tempdir()?;
/// # let log = directory.path().join("log");
/// fs::write(&log, "one\n")?;
/// let follow = Follow::new(&log);
/// let stopper = follow.stopper();
/// let p = pipeline::<Block>().map(|block| block.to_vec());
/// let run = p.start(&Rings::new(), Blocks::new(follow), Vec::new(), |all: &mut Vec<u8>, _, bytes| all.extend(bytes))?;
///
/// fs::OpenOptions::new().append(true).open(&log)?.write_all(b"two\n")?;
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
    /// None while there is no file of the name.
    current: Option<Current>,
    /// Whether the first file is read from where it ends.
    from_end: bool,
    interval: Duration,
    stop: FollowStopper,
    phase: Phase,
    clock: C,
}

/// Ends a [`Follow`] from anywhere. Clones end the same one.
#[derive(Clone, Debug, Default)]
pub struct FollowStopper(Arc<AtomicBool>);

impl FollowStopper {
    /// Tells it to end. What the file of the name has by the time it notices is given still, and what is left of a file
    /// that had the name before; what is written later is not. It notices an interval later at most.
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
    /// How far it has been read.
    position: u64,
    /// How far it is to be read.
    limit: u64,
    /// Whether it has lost its name, and is read for the last time.
    read_to_end: bool,
}

/// How far the end is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Following,
    /// Told to end: reads what is left of the current file, then of the one that has its name by now.
    Stopping,
    /// Reads what is left of the last file.
    Last,
}

impl Follow {
    /// How long it waits at the end of the file, unless chosen otherwise.
    pub const DEFAULT_INTERVAL: Duration = Duration::from_millis(100);

    /// Follows the file of this name from its beginning.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self::by(SystemClock::default(), path)
    }
}

impl<C: Clock> Follow<C> {
    /// As [`new`](Follow::new), waiting by a clock of one's own.
    pub fn by(clock: C, path: impl Into<PathBuf>) -> Self {
        Follow {
            path: path.into(),
            current: None,
            from_end: false,
            interval: Follow::DEFAULT_INTERVAL,
            stop: FollowStopper::default(),
            phase: Phase::Following,
            clock,
        }
    }

    /// How long it waits at the end of the file before it looks again.
    #[must_use]
    pub fn interval(self, interval: Duration) -> Self {
        Follow { interval, ..self }
    }

    /// Leaves out what is in the file when it is opened. One that was not there at the first look is read from its
    /// beginning, and so is every later one.
    #[must_use]
    pub fn from_end(self) -> Self {
        Follow { from_end: true, ..self }
    }

    /// What ends it.
    pub fn stopper(&self) -> FollowStopper {
        self.stop.clone()
    }

    /// Bytes of the current file, as far as it may be read; 0 if there are none.
    fn read_current(&mut self, buffer: &mut [u8]) -> Result<usize> {
        let Some(current) = &mut self.current else { return Ok(0) };
        let left = usize::try_from(current.limit - current.position).unwrap_or(usize::MAX);
        let most = left.min(buffer.len());
        let read = current.file.read(&mut buffer[..most]).map_err(|error| match error.kind() {
            ErrorKind::Interrupted => error,
            _ => named(&self.path, "read", error),
        })?;
        current.position += read as u64;
        Ok(read)
    }

    /// Looks who has the name now. Whether there may be something to read since.
    fn look(&mut self) -> Result<bool> {
        let from_end = mem::take(&mut self.from_end);
        let metadata = match fs::metadata(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            metadata => metadata.map_err(|error| named(&self.path, "open", error))?,
        };
        let Some(current) = &mut self.current else { return self.open(&metadata, from_end) };
        let same = current.identity == identity(&metadata);
        if same && metadata.len() >= current.position {
            return Ok(false);
        }
        if !same && current.read_to_end {
            return self.open(&metadata, false);
        }
        if same {
            current.file.rewind().map_err(|error| named(&self.path, "read", error))?;
            current.position = 0;
        } else {
            // It may have grown between the last read and the moment in which it lost its name.
            current.read_to_end = true;
        }
        self.limit(same)?;
        Ok(true)
    }

    /// Opens the file that has the name. Whether it is still there.
    fn open(&mut self, metadata: &Metadata, from_end: bool) -> Result<bool> {
        let opened = Current::open(&self.path, metadata, from_end);
        match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            opened => self.current = Some(opened.map_err(|error| named(&self.path, "open", error))?),
        }
        self.limit(true)?;
        Ok(true)
    }

    /// When it was told to end: limits the current file to what it has by now. `last` is whether none comes behind it.
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
            let read = self.read_current(buffer)?;
            if read > 0 || self.phase == Phase::Last {
                return Ok(read);
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
    fn open(path: &Path, metadata: &Metadata, from_end: bool) -> Result<Self> {
        if !metadata.is_file() {
            return Err(Error::new(ErrorKind::InvalidInput, "only a regular file can be followed"));
        }
        let mut file = File::open(path)?;
        let identity = identity(&file.metadata()?);
        let position = if from_end { file.seek(SeekFrom::End(0))? } else { 0 };
        Ok(Current { file, identity, position, limit: u64::MAX, read_to_end: false })
    }
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
