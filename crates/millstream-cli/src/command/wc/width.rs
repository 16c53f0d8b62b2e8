use super::characters::{Edges, Seam};
use memchr::memchr;
use unicode_width::UnicodeWidthChar;

/// The width of the widest line of a text on a terminal. A tab moves to the next multiple of 8, carriage return and
/// form feed move back to the margin, and unprintable characters have no width.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Widest {
    /// The column at the end of the text.
    at: u64,
    widest: u64,
    seam: Seam,
}

/// The part of a block in that width.
#[derive(Clone, Debug, Default)]
pub(super) struct WidestOf {
    first: Shift,
    /// After the first return to the margin, if there is one.
    rest: Option<Rest>,
    edges: Edges,
}

/// How the end of a line moves the column at which it begins.
#[derive(Clone, Copy, Debug, Default)]
struct Shift {
    by: u64,
    /// The width after the first tab, if there is one: the tab moves to a multiple of 8, whatever was before.
    after_tab: Option<u64>,
}

/// Lines whose first columns are known.
#[derive(Clone, Copy, Debug, Default)]
struct Rest {
    widest: u64,
    at: u64,
}

impl Widest {
    pub(super) fn append(&mut self, block: &WidestOf) {
        if let Some(character) = self.seam.join(&block.edges) {
            self.at += width(character);
        }
        self.at = block.first.applied(self.at);
        if let Some(rest) = block.rest {
            self.widest = self.widest.max(self.at).max(rest.widest);
            self.at = rest.at;
        }
    }

    /// The width if the text ends here.
    pub(super) fn width(&self) -> u64 {
        self.widest.max(self.at)
    }
}

impl WidestOf {
    pub(super) fn block(block: &[u8]) -> Self {
        let (edges, mut bytes) = Edges::of(block);
        let mut seen = WidestOf { edges, ..WidestOf::default() };
        while let Some(end) = memchr(b'\n', bytes) {
            seen.read_line(&bytes[..end]);
            seen.go_back();
            bytes = &bytes[end + 1..];
        }
        seen.read_line(bytes);
        seen
    }

    fn read_line(&mut self, line: &[u8]) {
        // Without a branch, so that a vector of bytes is checked at once.
        if line.iter().fold(true, |plain, byte| plain & matches!(byte, b' '..=b'~')) {
            return self.go_on(line.len() as u64);
        }
        for character in line.utf8_chunks().flat_map(|chunk| chunk.valid().chars()) {
            match character {
                '\t' => self.go_to_tab(),
                '\r' | '\x0c' => self.go_back(),
                _ => self.go_on(width(character)),
            }
        }
    }

    fn go_on(&mut self, by: u64) {
        match (&mut self.rest, &mut self.first.after_tab) {
            (Some(rest), _) => rest.at += by,
            (None, Some(column)) => *column += by,
            (None, None) => self.first.by += by,
        }
    }

    fn go_to_tab(&mut self) {
        match (&mut self.rest, &mut self.first.after_tab) {
            (Some(rest), _) => rest.at = next_tab(rest.at),
            (None, Some(column)) => *column = next_tab(*column),
            (None, none) => *none = Some(0),
        }
    }

    fn go_back(&mut self) {
        let rest = self.rest.get_or_insert_default();
        rest.widest = rest.widest.max(rest.at);
        rest.at = 0;
    }
}

impl Shift {
    fn applied(self, column: u64) -> u64 {
        let column = column + self.by;
        self.after_tab.map_or(column, |more| next_tab(column) + more)
    }
}

fn next_tab(column: u64) -> u64 {
    (column / 8 + 1) * 8
}

fn width(character: char) -> u64 {
    character.width().unwrap_or(0) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widest<'a>(blocks: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut all = Widest::default();
        blocks.into_iter().for_each(|block| all.append(&WidestOf::block(block)));
        all.width()
    }

    #[test]
    fn widths_are_those_of_a_terminal() {
        let cases: [(&[u8], u64); 14] = [
            (b"", 0),
            (b"\n\n", 0),
            (b"abc\nabcd\nab", 4),
            (b"ab\nabc", 3),
            (b"abc\rab", 3),
            (b"ab\x0cabcd\r", 4),
            (b"\t", 8),
            (b"1234567\t", 8),
            (b"12345678\tx", 17),
            (b"a\tb\tc\nx", 17),
            (b"a\x0b\0\x1b\x7fb", 2),
            ("été\u{301}".as_bytes(), 3),
            ("言葉".as_bytes(), 4),
            (b"a\xff\xe8\xa8b", 2),
        ];
        for (text, expected) in cases {
            assert_eq!(widest([text]), expected, "{text:x?}");
            assert_eq!(widest(text.chunks(1)), expected, "{text:x?} byte by byte");
            for cut in 0..=text.len() {
                assert_eq!(widest([&text[..cut], &text[cut..]]), expected, "{text:x?} cut at {cut}");
            }
        }
    }
}
