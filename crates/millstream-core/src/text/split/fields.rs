use super::scan::{Byte, Scan};
use super::{Cut, Splitter};
use crate::text::Textual;

/// The text between separators, even if it is empty: one field more than there are separators.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    separator: u8,
}

impl Fields {
    /// Fields separated by an ASCII character.
    ///
    /// # Panics
    ///
    /// If `separator` is not an ASCII character: the byte could be in the middle of another character.
    #[must_use]
    pub fn separated_by(separator: u8) -> Self {
        assert!(separator.is_ascii(), "byte {separator} is not an ASCII character, so it separates nothing");
        Fields { separator }
    }
}

/// The fields of a text.
#[derive(Debug)]
pub struct FieldsOf<'a> {
    scan: Scan<'a, Byte>,
    from: usize,
}

impl Iterator for FieldsOf<'_> {
    type Item = Splitter;

    #[inline(always)]
    fn next(&mut self) -> Option<Splitter> {
        let from = self.from;
        // A separator that is the last byte is followed by an empty field.
        if from > self.scan.len() {
            return None;
        }
        let end = self.scan.find(from, true);
        self.from = end + 1;
        Some(Splitter { range: from..end, next: self.from })
    }
}

impl<T: Textual + ?Sized> Cut<T> for Fields {
    type Pieces<'a> = FieldsOf<'a>;
    const NAME: &'static str = "fields";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a T, from: usize) -> FieldsOf<'a> {
        FieldsOf { scan: Scan::new(text.bytes(), Byte(self.separator)), from }
    }
}
