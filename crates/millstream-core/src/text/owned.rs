use super::{Block, Piece, Textual};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A piece that outlives its slot. It keeps the whole block alive, and copies nothing. `collect` returns such pieces
/// for an edge of text, and `windows` keeps them.
///
/// To keep a few short pieces of a long stream, copy them (`to_vec`, `to_string`): their blocks can then be freed.
pub struct OwnedPiece<T: ?Sized = [u8]> {
    block: Block,
    start: u32,
    len: u32,
    kind: PhantomData<fn() -> Box<T>>,
}

impl<T: Textual + ?Sized> OwnedPiece<T> {
    /// The whole block as a piece.
    ///
    /// # Panics
    ///
    /// If the block is not of this kind.
    #[must_use]
    pub fn new(block: &Block) -> Self {
        let text = T::of(block).expect("a block of this kind");
        Piece::of(text, block).into()
    }

    /// The borrowed piece, as a stage reads it.
    ///
    /// For `str`, this checks every byte, since nothing else ensures that they are UTF-8.
    #[must_use]
    pub fn lend(&self) -> Piece<'_, T> {
        let start = self.start as usize;
        let bytes = &self.block[start..start + self.len as usize];
        let text = T::of(bytes).expect("it was of this kind when it was made");
        Piece::of(text, &self.block)
    }
}

impl<T: Textual + ?Sized> From<Piece<'_, T>> for OwnedPiece<T> {
    fn from(piece: Piece<'_, T>) -> Self {
        let at = |byte: usize| u32::try_from(byte).expect("a block is shorter");
        let (start, len) = (at(piece.start()), at(piece.text().bytes().len()));
        OwnedPiece { block: piece.block().clone(), start, len, kind: PhantomData }
    }
}

impl<T: ?Sized> Clone for OwnedPiece<T> {
    fn clone(&self) -> Self {
        OwnedPiece { block: self.block.clone(), ..*self }
    }
}

impl<T: Textual + ?Sized> Deref for OwnedPiece<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.lend().text()
    }
}

impl<T: Textual + ?Sized, U: AsRef<T>> PartialEq<U> for OwnedPiece<T> {
    fn eq(&self, other: &U) -> bool {
        **self == *other.as_ref()
    }
}

impl<T: Textual + ?Sized> AsRef<T> for OwnedPiece<T> {
    fn as_ref(&self) -> &T {
        self
    }
}

impl<T: Textual + ?Sized> Eq for OwnedPiece<T> {}

impl<T: Textual + ?Sized> std::hash::Hash for OwnedPiece<T> {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (**self).hash(state);
    }
}

impl<T: Textual + ?Sized> fmt::Debug for OwnedPiece<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
