use millstream_core::text::{Block, Piece, Textual};
use std::marker::PhantomData;
use std::mem::ManuallyDrop;

/// A piece as a slot holds it: its block, its start and its length. Only this crate makes spans that rely on the counts
/// of others.
pub struct Span<T: ?Sized = [u8]> {
    block: ManuallyDrop<Block>,
    start: u32,
    /// The length; the highest bit is set if this span has a count of its block.
    len: u32,
    kind: PhantomData<fn() -> Box<T>>,
}

const OWNS: u32 = 1 << 31;
const _: () = assert!(Block::MOST < OWNS as usize);

/// How bytes are read. Every [`Textual`] type has it.
pub trait Kind: Textual {
    /// These bytes, as this kind.
    ///
    /// # Safety
    ///
    /// They must be of this kind: [`Textual::of`] would accept them.
    #[doc(hidden)]
    unsafe fn of_known(bytes: &[u8]) -> &Self;
}

impl Kind for [u8] {
    #[inline(always)]
    unsafe fn of_known(bytes: &[u8]) -> &Self {
        bytes
    }
}

impl Kind for str {
    #[inline(always)]
    unsafe fn of_known(bytes: &[u8]) -> &Self {
        // SAFETY: the caller's contract: they are UTF-8.
        unsafe { std::str::from_utf8_unchecked(bytes) }
    }
}

impl<T: Kind + ?Sized> Span<T> {
    /// Some bytes of a block, of which the span has no count.
    ///
    /// # Safety
    ///
    /// As long as the span is read, the block must be alive and have these bytes, and they must be of kind `T`.
    #[inline(always)]
    pub(super) unsafe fn lent(block: &Block, start: usize, len: usize) -> Self {
        // SAFETY: never dropped, since the span does not own it, and used only as long as the block is alive.
        let block = ManuallyDrop::new(unsafe { std::ptr::read(block) });
        Span { block, start: start as u32, len: len as u32 & !OWNS, kind: PhantomData }
    }

    /// As [`lent`](Span::lent), with a count of the block.
    ///
    /// # Safety
    ///
    /// The block must have these bytes, and they must be of kind `T`.
    pub(super) unsafe fn owning(block: Block, start: usize, len: usize) -> Self {
        Span { block: ManuallyDrop::new(block), start: start as u32, len: len as u32 | OWNS, kind: PhantomData }
    }

    /// A piece, with its block.
    pub fn of(piece: Piece<'_, T>) -> Self {
        let (start, len) = place(piece);
        // SAFETY: `place` has found the piece in its block.
        unsafe { Span::owning(piece.block().clone(), start, len) }
    }

    /// The piece.
    #[inline(always)]
    pub(crate) fn lend(&self) -> Piece<'_, T> {
        let (start, len) = (self.start as usize, (self.len & !OWNS) as usize);
        let block: &Block = &self.block;
        // SAFETY: by the contract of the functions that make a span, the block is alive and has these bytes.
        let bytes = unsafe { block.get_unchecked(start..start + len) };
        // SAFETY: as above: they are of this kind.
        Piece::of(unsafe { T::of_known(bytes) }, block)
    }
}

/// The start and the length of a piece in its block.
///
/// # Panics
///
/// If it is not in its block: safe code makes no such piece, except by functions that are not meant for it.
#[inline(always)]
pub(super) fn place<T: Textual + ?Sized>(piece: Piece<'_, T>) -> (usize, usize) {
    let (bytes, block) = (piece.text().bytes().as_ptr_range(), piece.block().as_ptr_range());
    assert!(block.start <= bytes.start && bytes.end <= block.end, "a piece that is not in its block");
    (piece.start(), piece.text().bytes().len())
}

impl<T: ?Sized> Drop for Span<T> {
    #[inline(always)]
    fn drop(&mut self) {
        if self.len & OWNS != 0 {
            // SAFETY: the span has a count, and is dropped once.
            unsafe { ManuallyDrop::drop(&mut self.block) };
        }
    }
}

impl<T: ?Sized> std::fmt::Debug for Span<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Span").field("start", &self.start).field("len", &(self.len & !OWNS)).finish_non_exhaustive()
    }
}
