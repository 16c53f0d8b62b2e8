//! Where the files of a followed name begin.

use millstream_io::NextFile;
use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

/// The numbers of bytes before each further file, among the bytes of a reader that says by [`NextFile`] where one
/// begins. No block of whole rows has bytes of two files.
#[derive(Clone, Debug, Default)]
pub(super) struct Begins(Arc<Mutex<VecDeque<u64>>>);

impl Begins {
    /// Whether a file begins at or before this byte, and was not passed yet.
    pub(super) fn pass(&self, at: u64) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::iter::from_fn(|| all.pop_front_if(|begin| *begin <= at)).count() > 0
    }

    /// The next file that was not passed.
    pub(super) fn next(&self) -> Option<u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).front().copied()
    }

    /// A reader of the same bytes that notes where files begin.
    pub(super) fn noted<R>(&self, reader: R) -> Noted<R> {
        Noted { reader, read: 0, begins: self.clone() }
    }
}

/// A reader that notes where files begin.
pub(super) struct Noted<R> {
    reader: R,
    read: u64,
    begins: Begins,
}

impl<R: Read> Read for Noted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        match &read {
            Ok(read) => self.read += *read as u64,
            Err(error) if NextFile::is(error) => {
                self.begins.0.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.read);
            }
            Err(_) => {}
        }
        read
    }
}
