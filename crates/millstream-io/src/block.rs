use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::{fmt, mem};

/// Some bytes of a stream, owned: at least one, and no promise about where they were cut.
///
/// A block that came from [`Blocks`](crate::Blocks) gives its memory back when it is dropped, and a later block of the
/// same stream takes it again: a run over any amount of data allocates as many blocks as are alive at once.
pub struct Block {
    buffer: Box<[u8]>,
    filled: usize,
    home: Weak<Mutex<Vec<Box<[u8]>>>>,
}

impl Deref for Block {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }
}

impl Clone for Block {
    /// A copy with memory of its own.
    fn clone(&self) -> Self {
        self.to_vec().into()
    }
}

impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        Block { filled: bytes.len(), buffer: bytes.into_boxed_slice(), home: Weak::new() }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.filled)
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        if let Some(home) = self.home.upgrade() {
            home.lock().unwrap_or_else(PoisonError::into_inner).push(mem::take(&mut self.buffer));
        }
    }
}

/// The memory of the blocks of one stream.
#[derive(Debug)]
pub(crate) struct Pool {
    size: usize,
    free: Arc<Mutex<Vec<Box<[u8]>>>>,
}

impl Pool {
    pub(crate) fn new(size: usize) -> Self {
        Pool { size, free: Arc::default() }
    }

    /// Memory for one block: what a dropped block gave back, or new. Its content is not specified.
    pub(crate) fn take(&self) -> Box<[u8]> {
        let used = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        used.unwrap_or_else(|| vec![0; self.size].into_boxed_slice())
    }

    /// A block of the first `filled` bytes of `buffer`, which comes back here when the block is dropped.
    pub(crate) fn block(&self, buffer: Box<[u8]>, filled: usize) -> Block {
        Block { buffer, filled, home: Arc::downgrade(&self.free) }
    }
}
