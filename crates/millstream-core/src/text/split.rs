//! Where a text is cut into pieces.

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

/// One piece: where it lies, and from where on to look for the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Splitter {
    /// The bytes of the piece.
    pub range: Range<usize>,
    /// Where the search for the next piece begins. Beyond the text's end where this is the last one.
    pub next: usize,
}

/// How a text is cut into pieces, which lie in it one behind the other.
///
/// A text may have more pieces than there is room for in one step; so a stage must be able to go on later from where the
/// last piece said. What [`pieces`](Cut::pieces) gives may depend on the text and on that place alone.
///
/// A function is a `Cut`, too: of the text and the place from which on to look, to the next piece. Where it goes on must lie
/// behind where it has looked from.
///
/// ```
/// use millstream_core::text::{Cut, Splitter};
/// // Every second byte.
/// let odd = |text: &[u8], from: usize| (from + 1 < text.len()).then(|| Splitter { range: from + 1..from + 2, next: from + 2 });
/// let ranges: Vec<_> = odd.pieces(&b"abcde"[..], 0).map(|piece| piece.range).collect();
/// assert_eq!(ranges, [1..2, 3..4]);
/// ```
pub trait Cut<T: Textual + ?Sized>: Send + Sync + 'static {
    /// The pieces from some place on.
    type Pieces<'a>: Iterator<Item = Splitter>
    where
        Self: 'a;
    /// The name of a stage that cuts so.
    const NAME: &'static str;
    /// The pieces from byte `from` on: 0, or what a piece before has said to be its `next`.
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
        let cutting = (self.f)(self.text, self.from)?;
        assert!(cutting.next > self.from, "a cut that goes on at {}, from where it has looked", cutting.next);
        self.from = cutting.next;
        Some(cutting)
    }
}
