use rustix::event::{PollFd, PollFlags, poll};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// An input that ends when a signal comes, even while a read waits.
#[derive(Debug)]
pub(crate) struct Watched {
    file: File,
    wake: Arc<Wake>,
}

/// A pipe that becomes readable once, and stays readable, for every thread that waits for it.
#[derive(Debug)]
pub(super) struct Wake {
    reader: PipeReader,
    /// Closing it wakes the readers.
    writer: Mutex<Option<PipeWriter>>,
}

impl Wake {
    pub(super) fn new() -> io::Result<Self> {
        let (reader, writer) = io::pipe()?;
        Ok(Wake { reader, writer: Mutex::new(Some(writer)) })
    }

    pub(super) fn wake(&self) {
        drop(self.writer.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

impl Watched {
    pub(super) fn new(file: File, wake: Arc<Wake>) -> Self {
        Watched { file, wake }
    }
}

#[cfg(feature = "cluster")]
impl Watched {
    /// Whether a read would not wait.
    pub(crate) fn has_come(&self) -> bool {
        let at_once = rustix::event::Timespec::default();
        poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&at_once)).is_ok_and(|ready| ready > 0)
    }
}

/// The error of a read of a [`Watched`] input after a signal.
#[derive(Debug)]
struct Ended;

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a signal has ended it")
    }
}

impl Error for Ended {}

/// The error by which a signal ends an input.
pub(crate) fn ended() -> io::Error {
    io::Error::other(Ended)
}

/// Whether this error is the normal end of a [`Watched`] input.
pub(crate) fn is_end(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Ended>())
}

impl Read for Watched {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut both = [PollFd::new(&self.file, PollFlags::IN), PollFd::new(&self.wake.reader, PollFlags::IN)];
        // An interrupted call is repeated by the caller, as a read is.
        poll(&mut both, None)?;
        if both[1].revents().is_empty() { self.file.read(buffer) } else { Err(ended()) }
    }
}
