use super::{Kind, Pen};
use millstream_core::text::{Block, BlockPool, Draft, Piece, Writer};
use std::marker::PhantomData;
use std::mem::take;

/// Text that a stage writes past its ring: one value after another, into one block. They are read together, once the
/// block is finished.
///
/// ```
/// use millstream::ring::Sheet;
/// let mut sheet = Sheet::<[u8]>::new();
/// for word in ["to", "be", ""] {
///     sheet.write(|out| {
///         out.extend(word.as_bytes());
///         !word.is_empty()
///     });
/// }
/// let mut words = Vec::new();
/// sheet.read(|word| words.push(word.map(|word| word.to_vec())));
/// assert_eq!(words, [Some(b"to".to_vec()), Some(b"be".to_vec()), None]);
/// ```
pub struct Sheet<T: ?Sized = [u8]> {
    pool: BlockPool,
    draft: Draft,
    /// The bytes of the values in the draft; more are those of a value whose writer has panicked.
    filled: usize,
    /// Where each value ends.
    ends: Vec<u32>,
    kind: PhantomData<fn() -> Box<T>>,
}

/// The end of a slot without a value. A block is shorter.
const EMPTY: u32 = u32::MAX;

impl<T: Kind + ?Sized> Sheet<T> {
    /// The greatest number of values.
    const MOST: usize = 4096;

    /// Without a value.
    #[must_use]
    pub fn new() -> Self {
        let (pool, draft) = (BlockPool::new(2 * Pen::<T>::BLOCK), Draft::default());
        Sheet { pool, draft, filled: 0, ends: Vec::new(), kind: PhantomData }
    }

    /// How many slots were written.
    #[must_use]
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether no slot was written.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Whether it should be read before more is written: at [`Pen::BLOCK`] bytes, or many values.
    #[must_use]
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.filled >= Pen::<T>::BLOCK || self.ends.len() >= Self::MOST
    }

    /// Writes the next slot: what `f` writes, or nothing if it returns false. If `f` panics, no slot is written.
    ///
    /// # Panics
    ///
    /// If the block would have more than [`Block::MOST`] bytes.
    #[inline(always)]
    pub fn write(&mut self, f: impl FnOnce(&mut Writer<'_, T>) -> bool) {
        let bytes = &mut self.draft.bytes;
        // Removes the bytes of a write that panicked.
        bytes.truncate(self.filled);
        if f(&mut Writer::new(bytes)) {
            let len = bytes.len() - self.filled;
            assert!(bytes.len() <= Block::MOST, "a block has at most 2 GiB, and a value was written of {len} bytes");
            self.filled = bytes.len();
            self.ends.push(self.filled as u32);
        } else {
            bytes.truncate(self.filled);
            self.ends.push(EMPTY);
        }
    }

    /// The next slot is empty.
    #[inline(always)]
    pub fn skip(&mut self) {
        self.ends.push(EMPTY);
    }

    /// Gives every slot to `f`, in order. None of them is written any more then, also if `f` panics.
    #[inline(always)]
    pub fn read(&mut self, mut f: impl FnMut(Option<Piece<'_, T>>)) {
        if self.ends.is_empty() {
            return;
        }
        let (block, mut ends) = (self.finished(), take(&mut self.ends));
        let mut start = 0;
        for end in &ends {
            f((*end != EMPTY).then(|| {
                let bytes = &block[start..*end as usize];
                start = *end as usize;
                // SAFETY: one call of `write` has appended exactly these bytes, by a writer of text of this kind.
                Piece::of(unsafe { T::of_known(bytes) }, &block)
            }));
        }
        ends.clear();
        self.ends = ends;
    }

    /// Takes the block of the written slots. The next block begins.
    fn finished(&mut self) -> Block {
        let (draft, filled) = (take(&mut self.draft), take(&mut self.filled));
        let block = self.pool.finish(draft, filled);
        self.draft = self.pool.draft();
        self.draft.bytes.clear();
        block
    }
}

impl<T: Kind + ?Sized> Default for Sheet<T> {
    fn default() -> Self {
        Sheet::new()
    }
}

impl<T: ?Sized> std::fmt::Debug for Sheet<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sheet").field("slots", &self.ends.len()).finish_non_exhaustive()
    }
}
