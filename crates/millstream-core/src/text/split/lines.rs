use super::scan::{Byte, Scan};
use super::{Cut, Splitter};
use crate::text::Textual;

/// Lines, without the line feeds that end them. A carriage return before a line feed is a byte of the line. Bytes
/// after the last line feed are a line.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines;

/// As [`Lines`], with the line feeds.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinesWithEnds;

/// The lines of a text.
#[derive(Debug)]
pub struct LinesOf<'a> {
    scan: Scan<'a, Byte>,
    from: usize,
    with_end: usize,
    /// Whether the last line was long. Short lines are found faster together, a long one alone.
    long: bool,
}

/// Lines of at least this length are long.
const LONG: usize = 64;

impl<'a> LinesOf<'a> {
    #[inline(always)]
    fn new(bytes: &'a [u8], from: usize, with_end: bool) -> Self {
        LinesOf { scan: Scan::new(bytes, Byte(b'\n')), from, with_end: usize::from(with_end), long: false }
    }
}

impl Iterator for LinesOf<'_> {
    type Item = Splitter;

    // As a call, it would keep its mask in memory: that is a third of what a short line costs.
    #[inline(always)]
    fn next(&mut self) -> Option<Splitter> {
        let (from, len) = (self.from, self.scan.len());
        if from >= len {
            return None;
        }
        let end = if self.long {
            memchr::memchr(b'\n', &self.scan.bytes()[from..]).map_or(len, |at| from + at)
        } else {
            self.scan.find(from, true)
        };
        self.long = end - from >= LONG;
        self.from = end + 1;
        Some(Splitter { range: from..(end + self.with_end).min(len), next: self.from })
    }
}

impl<T: Textual + ?Sized> Cut<T> for Lines {
    type Pieces<'a> = LinesOf<'a>;
    const NAME: &'static str = "lines";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> LinesOf<'a> {
        LinesOf::new(text.bytes(), from, false)
    }
}

impl<T: Textual + ?Sized> Cut<T> for LinesWithEnds {
    type Pieces<'a> = LinesOf<'a>;
    const NAME: &'static str = "lines_with_ends";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> LinesOf<'a> {
        LinesOf::new(text.bytes(), from, true)
    }
}
