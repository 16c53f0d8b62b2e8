use crate::{Block, Failure};
use millstream_core::text::BlockPool;
use std::io::{ErrorKind, Read};

/// The bytes of a reader, as owned blocks. The memory of a block is used again once the block is dropped. As a source,
/// at most 16 blocks wait in its ring or queue; `source::few::<4, _>(blocks)` makes it fewer.
///
/// Each read makes one block: its bytes are passed on at once, however few, so that a line typed at a terminal does not
/// wait for a full block. An interrupted read is repeated. An error fails the run, after the bytes before it; it
/// unwinds, without a panic's message. If the iterator's [`Failure`] is held, the error is kept there, and the iterator
/// ends.
#[derive(Debug)]
pub struct Blocks<R> {
    /// `None` once the stream has ended, so that a terminal is not read beyond its end.
    reader: Option<R>,
    size: usize,
    pool: BlockPool,
    failure: Failure,
}

impl<R: Read> Blocks<R> {
    /// The default of the most bytes in one block. It is small enough for several blocks in a core's cache, and for an
    /// allocator that does not call the kernel for each block. It is large enough to make the cost of a read and of a
    /// slot negligible.
    pub const DEFAULT_SIZE: usize = 64 * 1024;

    /// Blocks of at most [`DEFAULT_SIZE`](Blocks::DEFAULT_SIZE) bytes.
    pub fn new(reader: R) -> Self {
        Self::with_size(reader, Self::DEFAULT_SIZE)
    }

    /// Blocks of at most `size` bytes.
    ///
    /// # Panics
    ///
    /// If `size` is 0.
    pub fn with_size(reader: R, size: usize) -> Self {
        assert!(size > 0, "a block needs room for at least one byte");
        Blocks { reader: Some(reader), size, pool: BlockPool::new(size), failure: Failure::default() }
    }

    /// The place where an error is kept. As long as it is held, an error ends the iterator; otherwise it fails the run.
    pub fn failure(&self) -> Failure {
        self.failure.clone()
    }
}

impl<R: Read> Iterator for Blocks<R> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let reader = self.reader.as_mut()?;
        let mut draft = self.pool.draft();
        draft.bytes.resize(self.size, 0);
        loop {
            match reader.read(&mut draft.bytes) {
                Ok(0) => break,
                Ok(filled) => return Some(self.pool.finish(draft, filled)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    self.reader = None;
                    self.failure.keep(error);
                    break;
                }
            }
        }
        self.reader = None;
        None
    }
}
