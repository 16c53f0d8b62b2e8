//! How a text is cut into pieces.

mod fields;
mod lines;
mod records;
mod scan;
mod words;

pub use fields::Fields;
pub use lines::{Lines, LinesWithEnds};
pub use records::{Prefixed, Records};
pub use words::Words;

use super::Textual;
use std::ops::Range;

/// One piece: its range, and the start of the search for the next piece.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitter {
    /// The bytes of the piece.
    pub range: Range<usize>,
    /// The start of the search for the next piece. It is beyond the text's end if this piece is the last one.
    pub next: usize,
}

/// The failure of a cut whose piece is no part of its text.
#[doc(hidden)]
#[cold]
pub fn not_a_part(Range { start, end }: Range<usize>, len: usize) -> ! {
    panic!("cut at {start} and {end}, which is not a part of {len} bytes")
}

/// How a text is cut into pieces, one after another.
///
/// A text may have more pieces than there is room for in one step. A stage must therefore be able to continue at the
/// last piece's `next`. The result of [`pieces`](Cut::pieces) may depend on the text and on that position alone.
///
/// A function from the text and a position to the next piece is a `Cut`, too. Its `next` must be greater than the
/// position.
///
/// ```
/// use millstream::text::{Cut, Splitter};
/// // Every second byte.
/// let second = |from: usize| Splitter { range: from + 1..from + 2, next: from + 2 };
/// let odd = move |text: &[u8], from: usize| (from + 1 < text.len()).then(|| second(from));
/// let ranges: Vec<_> = odd.pieces(&b"abcde"[..], 0).map(|piece| piece.range).collect();
/// assert_eq!(ranges, [1..2, 3..4]);
/// ```
pub trait Cut<T: Textual + ?Sized>: Send + Sync + 'static {
    /// An iterator over the pieces.
    type Pieces<'a>: Iterator<Item = Splitter>
    where
        Self: 'a;
    /// The name of a stage with this cut.
    const NAME: &'static str;
    /// The pieces from byte `from` on: 0, or the `next` of an earlier piece.
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> Self::Pieces<'a>;
}

impl<T: Textual + ?Sized, F> Cut<T> for F
where
    F: Fn(&T, usize) -> Option<Splitter> + Send + Sync + 'static,
{
    type Pieces<'a> = ByFunction<'a, T, F>;
    const NAME: &'static str = "cut";

    #[inline]
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> ByFunction<'a, T, F> {
        ByFunction { f: self, text, from }
    }
}

/// The pieces that a function finds.
#[derive(Debug)]
pub struct ByFunction<'a, T: ?Sized, F> {
    f: &'a F,
    text: &'a T,
    from: usize,
}

impl<T: Textual + ?Sized, F: Fn(&T, usize) -> Option<Splitter>> Iterator for ByFunction<'_, T, F> {
    type Item = Splitter;

    #[inline]
    fn next(&mut self) -> Option<Splitter> {
        if self.from > self.text.bytes().len() {
            return None;
        }
        let piece = (self.f)(self.text, self.from)?;
        assert!(piece.next > self.from, "a cut must continue after the position of its search, not at {}", piece.next);
        self.from = piece.next;
        Some(piece)
    }
}
