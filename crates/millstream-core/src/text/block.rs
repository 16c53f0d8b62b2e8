use super::{Cut, Lines, Piece};
use std::collections::VecDeque;
use std::ops::Deref;
use std::sync::Arc;
use std::{fmt, mem};

/// Some bytes of a stream, shared: a clone is the same memory. At most [`MOST`](Block::MOST) bytes.
///
/// A block does not record where it was cut from its stream. Its bytes do not change as long as a clone of it exists.
#[derive(Clone, Default)]
pub struct Block(Arc<Memory>);

#[derive(Default)]
struct Memory {
    bytes: Vec<u8>,
    filled: usize,
}

impl Block {
    /// The most bytes of a block: 2 GiB less one byte, so that the position of a piece takes 8 bytes.
    pub const MOST: usize = i32::MAX as usize;

    /// Whether both are the same memory.
    #[must_use]
    #[inline]
    pub fn is_same(&self, other: &Block) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The bytes of memory that the block keeps: more than its length if it was made of a larger buffer.
    #[must_use]
    pub fn memory(&self) -> usize {
        self.0.bytes.capacity()
    }

    /// Its lines, as [`lines`](crate::TextExt::lines) cuts them, without the line feeds: for a function that works on a
    /// whole block at once, for example in a `shard`.
    ///
    /// ```
    /// use millstream::{io::WholeBlocks, prelude::*};
    /// let longest = pipeline::<millstream::io::Block>()
    ///     .shard(2, |p| p.map(|block| block.lines().map(|line| line.len()).max()));
    /// let blocks = WholeBlocks::lines(&b"to be\nor\nnot to be"[..]);
    /// assert_eq!(longest.collect(blocks)?.into_iter().flatten().max(), Some(9));
    /// # Ok::<(), RunError>(())
    /// ```
    pub fn lines(&self) -> impl Iterator<Item = Piece<'_>> {
        let text: &[u8] = self;
        Lines.pieces(text, 0).map(|line| Piece::of(&text[line.range], self))
    }

    /// A number that differs from that of every other block, as long as the block is alive.
    #[must_use]
    pub fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }
}

impl Deref for Block {
    type Target = [u8];

    #[inline(always)]
    fn deref(&self) -> &[u8] {
        &self.0.bytes[..self.0.filled]
    }
}

/// # Panics
///
/// If `bytes` has more than [`Block::MOST`] bytes.
impl From<Vec<u8>> for Block {
    fn from(bytes: Vec<u8>) -> Self {
        let mut draft = Draft::default();
        let filled = bytes.len();
        draft.bytes = bytes;
        draft.finish(filled)
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.len())
    }
}

/// A block that is being written, by one thread.
#[derive(Debug, Default)]
pub struct Draft {
    block: Block,
    /// The bytes to write. At first their length is that of the last block in this memory, and their content is not
    /// specified.
    pub bytes: Vec<u8>,
}

impl Draft {
    /// The unfinished block, without a byte.
    #[must_use]
    pub fn block(&self) -> &Block {
        &self.block
    }

    /// The block of the first `filled` bytes.
    ///
    /// # Panics
    ///
    /// If there are fewer bytes, if `filled` is more than [`Block::MOST`], or if a clone of the draft's block exists.
    #[must_use]
    pub fn finish(self, filled: usize) -> Block {
        let Draft { mut block, bytes } = self;
        assert!(filled <= bytes.len(), "{filled} of {} bytes", bytes.len());
        assert!(filled <= Block::MOST, "a block has at most 2 GiB, and this one would have {filled} bytes");
        let memory = Arc::get_mut(&mut block.0).expect("a draft's block has no clone");
        *memory = Memory { bytes, filled };
        block
    }
}

/// Memory for the blocks of one writer. The memory of a block is used again after its last clone is dropped. A run
/// over any amount of data therefore allocates only as many blocks as are alive at once.
///
/// ```
/// use millstream::text::BlockPool;
/// let mut pool = BlockPool::new(1024);
/// let mut draft = pool.draft();
/// draft.bytes.clear();
/// draft.bytes.extend(b"to be");
/// let block = pool.finish(draft, 5);
/// assert_eq!(*block, *b"to be");
/// let memory = block.as_ptr();
/// drop(block);
/// assert_eq!(pool.draft().bytes.as_ptr(), memory);
/// ```
#[derive(Debug)]
pub struct BlockPool {
    /// The largest memory that is kept; larger memory goes back to the allocator.
    most: usize,
    /// The blocks that were finished, the oldest first.
    finished: VecDeque<Block>,
}

/// The most blocks that a pool remembers. If more are alive at once, the memory of the oldest ones is not used again.
const REMEMBERED: usize = 256;

impl BlockPool {
    /// A pool that keeps the memory of blocks of at most `most` bytes.
    #[must_use]
    pub fn new(most: usize) -> Self {
        BlockPool { most, finished: VecDeque::new() }
    }

    /// A draft in memory that no block uses any more, or in none.
    #[must_use]
    pub fn draft(&mut self) -> Draft {
        // Blocks are dropped roughly in the order in which they were finished. A free one is therefore near the front,
        // after blocks that are still kept.
        let free = self.finished.iter().position(|block| Arc::strong_count(&block.0) == 1);
        if let Some(mut block) = free.and_then(|at| self.finished.remove(at))
            && let Some(memory) = Arc::get_mut(&mut block.0)
        {
            let bytes = mem::take(&mut memory.bytes);
            memory.filled = 0;
            return Draft { block, bytes };
        }
        Draft::default()
    }

    /// The block of a draft's first `filled` bytes. After its last clone is dropped, its memory is used again, or goes
    /// back to the allocator at once if it is larger than the pool keeps.
    ///
    /// # Panics
    ///
    /// As [`Draft::finish`].
    #[must_use]
    pub fn finish(&mut self, draft: Draft, filled: usize) -> Block {
        let block = draft.finish(filled);
        if block.memory() > self.most {
            return block;
        }
        if self.finished.len() == REMEMBERED {
            self.finished.pop_front();
        }
        self.finished.push_back(block.clone());
        block
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_that_is_alive_is_not_written_over() {
        let mut pool = BlockPool::new(100);
        let block = |pool: &mut BlockPool, byte| {
            let mut draft = pool.draft();
            draft.bytes.clear();
            draft.bytes.resize(10, byte);
            pool.finish(draft, 10)
        };
        let kept = block(&mut pool, 1);
        let clone = kept.clone();
        drop(kept);
        let other = block(&mut pool, 2);
        assert_eq!((clone[0], other[0]), (1, 2));
        let memory = clone.as_ptr();
        drop(clone);
        assert_eq!(block(&mut pool, 3).as_ptr(), memory);
    }

    #[test]
    fn a_block_that_is_kept_does_not_stop_the_reuse_of_others() {
        let mut pool = BlockPool::new(100);
        let mut places = Vec::new();
        let mut kept = Vec::new();
        for i in 0..100 {
            let mut draft = pool.draft();
            draft.bytes.resize(10, 0);
            let block = pool.finish(draft, 10);
            places.push(block.as_ptr());
            if i % 10 == 0 {
                kept.push(block);
            }
        }
        places.sort_unstable();
        places.dedup();
        assert!(places.len() <= kept.len() + 2, "{} places for {} blocks", places.len(), kept.len());
    }

    #[test]
    fn memory_above_the_limit_is_not_kept() {
        let mut pool = BlockPool::new(100);
        let mut draft = pool.draft();
        draft.bytes.resize(101, 0);
        let block = pool.finish(draft, 101);
        let memory = Arc::downgrade(&block.0);
        drop(block);
        assert!(memory.upgrade().is_none(), "the pool keeps it until its next draft");
        assert_eq!(pool.draft().bytes.capacity(), 0);
    }
}
