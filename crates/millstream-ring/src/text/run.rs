use super::span::{Kind, Span, place};
use crate::slots::{Around, Slots};
use millstream_core::Density;
use millstream_core::text::{Block, Piece, Splitter, not_a_part};
use std::marker::PhantomData;

/// Slots of text that are being written, contiguous or around the ring's end, and that no reader sees yet.
///
/// When it is finished, every block of its spans has a count in one of the slots. A run that is dropped instead drops
/// the spans that it has written.
pub(crate) struct Run<'c, T: Kind + ?Sized, D: Density> {
    slots: &'c Slots<D::Slot<Span<T>>>,
    cells: Around<'c, D::Slot<Span<T>>>,
    first: u64,
    written: u64,
    /// The last filled slot, if no slot has a count of its block yet.
    last: Option<Last>,
    kind: PhantomData<fn() -> Box<T>>,
}

#[derive(Clone, Copy)]
struct Last {
    at: u64,
    start: usize,
    len: usize,
}

impl<'c, T: Kind + ?Sized, D: Density> Run<'c, T, D> {
    /// From number `first` on.
    ///
    /// # Safety
    ///
    /// The numbers that are written must be claimed by the caller, and their cells free, as long as this lives.
    pub(crate) unsafe fn new(slots: &'c Slots<D::Slot<Span<T>>>, first: u64) -> Self {
        Run { slots, cells: slots.around(), first, written: 0, last: None, kind: PhantomData }
    }

    /// The number of the next slot.
    pub(crate) fn next(&self) -> u64 {
        self.first + self.written
    }

    #[inline(always)]
    fn write(&self, at: u64, slot: Option<Span<T>>) {
        // SAFETY: the number is claimed and its cell is free, by the contract of `new`. A span that is overwritten has
        // no count.
        unsafe { self.cells.write(at, D::pack(slot)) };
    }

    /// Writes the next slot, empty.
    #[inline(always)]
    pub(crate) fn skip(&mut self) {
        self.write(self.next(), None);
        self.written += 1;
    }

    /// Writes the next slot: some bytes of `block`.
    ///
    /// # Safety
    ///
    /// The bytes must be of kind `T` and in the block, once it is finished. [`keep`](Run::keep) must be called with the
    /// block before a span of another block is put and before this is finished.
    #[inline(always)]
    pub(crate) unsafe fn put(&mut self, block: &Block, start: usize, len: usize) {
        let at = self.next();
        // SAFETY: no reader sees the slot before the run is finished, and then a later slot has a count, or this one.
        self.write(at, Some(unsafe { Span::lent(block, start, len) }));
        self.written += 1;
        self.last = Some(Last { at, start, len });
    }

    /// Adds a count of its block, which must be `block`, to the last filled slot.
    // Inlined, like all that changes a run, so that the run is in registers while slots are written.
    #[inline(always)]
    pub(crate) fn keep(&mut self, block: &Block) {
        if let Some(Last { at, start, len }) = self.last.take() {
            // SAFETY: by the contract of `put`, from which these numbers are.
            self.write(at, Some(unsafe { Span::owning(block.clone(), start, len) }));
        }
    }

    /// Ends the run without dropping anything. Returns how many slots it wrote.
    pub(crate) fn finish(self) -> u64 {
        debug_assert!(self.last.is_none(), "the last block was kept");
        let written = self.written;
        std::mem::forget(self);
        written
    }
}

impl<T: Kind + ?Sized, D: Density> Drop for Run<'_, T, D> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: this run wrote these slots, and no thread looks at them.
        unsafe { self.slots.drop_values(self.first..self.first + self.written) };
    }
}

/// Slots that are being written with pieces of existing blocks.
///
/// It is lent to a function that fills them: see [`Claim::pass_on`](crate::Claim::pass_on).
pub struct Passing<'c, 'b, T: Kind + ?Sized, D: Density> {
    run: Run<'c, T, D>,
    left: usize,
    block: Option<&'b Block>,
    /// The memory of the blocks that the run keeps, and its limit.
    memory: usize,
    most: usize,
    /// A block whose memory is counted already. If there is no room for any other block, only its pieces are taken.
    known: Option<usize>,
    /// The bytes of the pieces.
    text: usize,
}

/// The totals of slots that were written with pieces.
pub(super) struct Passed {
    pub(super) slots: u64,
    /// The bytes of the pieces.
    pub(super) text: usize,
    /// The memory of their blocks, without the known one.
    pub(super) memory: usize,
    /// The last of these blocks.
    pub(super) last: Option<usize>,
}

impl<'c, 'b, T: Kind + ?Sized, D: Density> Passing<'c, 'b, T, D> {
    /// At most `left` slots, of blocks of about `most` bytes of memory, without the known one.
    pub(super) fn new(run: Run<'c, T, D>, left: usize, most: usize, known: Option<usize>) -> Self {
        Passing { run, left, block: None, memory: 0, most, known, text: 0 }
    }

    /// Whether it takes a piece of this block: not if the memory limit is reached and the block is not counted yet.
    #[must_use]
    #[inline(always)]
    pub fn takes(&self, block: &Block) -> bool {
        self.most > 0 || self.known == Some(block.identity()) || self.known.is_none()
    }

    /// Whether every slot is written.
    #[must_use]
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.left == 0
    }

    /// Writes the next slot.
    ///
    /// # Panics
    ///
    /// If it is full.
    #[inline(always)]
    pub fn put(&mut self, piece: Option<Piece<'b, T>>) {
        assert!(self.left > 0, "all slots are written");
        self.left -= 1;
        let Some(piece) = piece else { return self.run.skip() };
        let (start, len) = place(piece);
        self.turn_to(piece.block());
        self.text += len;
        // SAFETY: `place` has found the piece in its block, which lives as long as 'b, and is kept before a span of
        // another one is put and before this ends.
        unsafe { self.run.put(piece.block(), start, len) };
    }

    /// Writes the next slots: the parts of `whole` that `parts` yields, until `parts` or the slots end. Sets `from` to
    /// the position from which the next part is searched. Returns whether there are no more parts.
    ///
    /// # Panics
    ///
    /// If a yielded range is no part of `whole`.
    #[inline(always)]
    pub fn cut(&mut self, whole: Piece<'b, T>, parts: &mut impl Iterator<Item = Splitter>, from: &mut usize) -> bool {
        let (base, _) = place(whole);
        let (block, text) = (whole.block(), whole.text());
        if !self.takes(block) {
            return false;
        }
        self.turn_to(block);
        while self.left > 0 {
            let Some(Splitter { range, next }) = parts.next() else { return true };
            let (start, end) = (range.start, range.end);
            if text.part(range).is_none() {
                not_a_part(start..end, text.bytes().len());
            }
            // SAFETY: `place` has found the whole in its block, and this is a part of it; otherwise as in `put`.
            unsafe { self.run.put(block, base + start, end - start) };
            self.text += end - start;
            self.left -= 1;
            *from = next;
        }
        false
    }

    #[inline(always)]
    fn turn_to(&mut self, block: &'b Block) {
        if !self.block.is_some_and(|before| before.is_same(block)) {
            self.change(block);
        }
    }

    #[inline(always)]
    fn change(&mut self, block: &'b Block) {
        if let Some(before) = self.block.replace(block) {
            self.run.keep(before);
        }
        if self.known != Some(block.identity()) {
            self.memory += block.memory();
        }
        if self.memory > 0 && self.memory >= self.most {
            // One more slot, for this block.
            self.left = self.left.min(1);
        }
    }

    #[inline(always)]
    pub(super) fn finish(mut self) -> Passed {
        if let Some(block) = self.block {
            self.run.keep(block);
        }
        let last = self.block.map(Block::identity);
        Passed { slots: self.run.finish(), text: self.text, memory: self.memory, last }
    }
}

impl<T: Kind + ?Sized, D: Density> std::fmt::Debug for Passing<'_, '_, T, D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Passing").field("left", &self.left).finish_non_exhaustive()
    }
}
