use super::Block;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, Range};
use std::str::{self, Utf8Error};

mod sealed {
    pub trait Sealed {}
    impl Sealed for [u8] {}
    impl Sealed for str {}
}

/// The kind of a piece: `[u8]`, any bytes, or `str`, UTF-8. Sealed.
pub trait Textual: sealed::Sealed + Send + Sync + fmt::Debug + Ord + Hash + 'static {
    /// Its bytes.
    fn bytes(&self) -> &[u8];
    /// These bytes, if they are of this kind.
    fn of(bytes: &[u8]) -> Option<&Self>;
    /// A part of it; none if the range is out of bounds, or the part is not of this kind.
    fn part(&self, range: Range<usize>) -> Option<&Self>;
}

impl Textual for [u8] {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self
    }
    #[inline(always)]
    fn of(bytes: &[u8]) -> Option<&Self> {
        Some(bytes)
    }
    #[inline(always)]
    fn part(&self, range: Range<usize>) -> Option<&Self> {
        self.get(range)
    }
}

impl Textual for str {
    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.as_bytes()
    }
    fn of(bytes: &[u8]) -> Option<&Self> {
        str::from_utf8(bytes).ok()
    }
    #[inline(always)]
    fn part(&self, range: Range<usize>) -> Option<&Self> {
        self.get(range)
    }
}

/// A part of a [`Block`], borrowed from a slot of text. It is a `&[u8]` or a `&str` with a reference to its block, so
/// that a part of it can be passed on without a copy.
///
/// ```
/// use millstream::text::{Block, Piece};
/// let block = Block::from(b"to be or not".to_vec());
/// let piece = Piece::new(&block, 3..8).unwrap();
/// assert_eq!(*piece, *b"be or");
/// let word = piece.part(3..5).unwrap().to_str().unwrap();
/// assert_eq!((&*word, word.start()), ("or", 6));
/// ```
pub struct Piece<'a, T: ?Sized = [u8]> {
    text: &'a T,
    block: &'a Block,
}

impl<'a> Piece<'a, [u8]> {
    /// These bytes of a block; none if the block has fewer.
    #[must_use]
    pub fn new(block: &'a Block, range: Range<usize>) -> Option<Self> {
        Some(Piece { text: block.get(range)?, block })
    }

    /// The whole block.
    #[must_use]
    #[inline(always)]
    pub fn whole(block: &'a Block) -> Self {
        Piece { text: block, block }
    }

    /// The same bytes as UTF-8.
    ///
    /// # Errors
    ///
    /// If they are not UTF-8.
    pub fn to_str(self) -> Result<Piece<'a, str>, Utf8Error> {
        Ok(Piece { text: str::from_utf8(self.text)?, block: self.block })
    }
}

impl<'a> Piece<'a, str> {
    /// The same as bytes.
    #[must_use]
    pub fn to_bytes(self) -> Piece<'a, [u8]> {
        Piece { text: self.text.as_bytes(), block: self.block }
    }
}

impl<'a, T: Textual + ?Sized> Piece<'a, T> {
    /// A part of a block, without any check that it is one.
    #[doc(hidden)]
    #[must_use]
    #[inline(always)]
    pub fn of(text: &'a T, block: &'a Block) -> Self {
        Piece { text, block }
    }

    /// Its text, for as long as the slot is borrowed.
    #[must_use]
    #[inline(always)]
    pub fn text(self) -> &'a T {
        self.text
    }

    /// Its block.
    #[must_use]
    #[inline(always)]
    pub fn block(self) -> &'a Block {
        self.block
    }

    /// The position of its first byte in its block.
    #[must_use]
    #[inline(always)]
    pub fn start(self) -> usize {
        self.text.bytes().as_ptr() as usize - self.block.as_ptr() as usize
    }

    /// A part of it, by a range of bytes; none if there is no such part. No byte is copied.
    #[must_use]
    #[inline(always)]
    pub fn part(self, range: Range<usize>) -> Option<Self> {
        Some(Piece { text: self.text.part(range)?, block: self.block })
    }

    /// The part that is `text`, which must be a slice of this piece, as `trim` or `split` return.
    ///
    /// ```
    /// use millstream::text::{Block, Piece};
    /// let block = Block::from(b"  to be ".to_vec());
    /// let line = Piece::whole(&block);
    /// let trimmed = line.narrow(line.text().trim_ascii());
    /// assert_eq!((trimmed.text(), trimmed.start()), (&b"to be"[..], 2));
    /// ```
    ///
    /// # Panics
    ///
    /// If `text` is not a slice of this piece, and is not empty. The empty text is a part of every piece.
    #[must_use]
    #[inline]
    pub fn narrow(self, text: &'a T) -> Self {
        let (inner, outer) = (text.bytes().as_ptr_range(), self.text.bytes().as_ptr_range());
        if outer.start <= inner.start && inner.end <= outer.end {
            return Piece { text, block: self.block };
        }
        assert!(text.bytes().is_empty(), "not a part of this piece");
        self.part(0..0).expect("every text has an empty part")
    }
}

impl<T: ?Sized> Clone for Piece<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: ?Sized> Copy for Piece<'_, T> {}

impl<T: ?Sized> Deref for Piece<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.text
    }
}

impl<T: ?Sized> AsRef<T> for Piece<'_, T> {
    fn as_ref(&self) -> &T {
        self.text
    }
}

impl<T: PartialEq + ?Sized> PartialEq for Piece<'_, T> {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
impl<T: Eq + ?Sized> Eq for Piece<'_, T> {}

impl<T: PartialOrd + ?Sized> PartialOrd for Piece<'_, T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.text.partial_cmp(other.text)
    }
}

impl<T: Ord + ?Sized> Ord for Piece<'_, T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(other.text)
    }
}

impl<T: Hash + ?Sized> Hash for Piece<'_, T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.text.hash(state);
    }
}

impl<T: fmt::Debug + ?Sized> fmt::Debug for Piece<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl fmt::Display for Piece<'_, str> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}
