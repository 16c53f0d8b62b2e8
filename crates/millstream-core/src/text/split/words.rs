use super::scan::{Scan, Space};
use super::{Cut, Splitter};
use crate::text::Textual;

/// Words: runs without white space. White space is a space, tab, line feed, vertical tab, form feed or carriage return.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words;

/// The words of a text.
#[derive(Debug)]
pub struct WordsOf<'a> {
    scan: Scan<'a, Space>,
    from: usize,
}

impl Iterator for WordsOf<'_> {
    type Item = Splitter;

    #[inline(always)]
    fn next(&mut self) -> Option<Splitter> {
        let start = self.scan.find(self.from, false);
        if start >= self.scan.len() {
            return None;
        }
        let end = self.scan.find(start, true);
        self.from = end + 1;
        Some(Splitter { range: start..end, next: self.from })
    }
}

impl<T: Textual + ?Sized> Cut<T> for Words {
    type Pieces<'a> = WordsOf<'a>;
    const NAME: &'static str = "words";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> WordsOf<'a> {
        WordsOf { scan: Scan::new(text.bytes(), Space), from }
    }
}
