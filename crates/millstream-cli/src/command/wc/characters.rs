//! Characters of UTF-8 in a text that arrives in blocks, cut at any byte.

use std::str::from_utf8;

/// A part of a character, or all of it.
#[derive(Clone, Copy, Debug, Default, serde::Serialize, serde::Deserialize)]
struct Few {
    bytes: [u8; 4],
    len: usize,
}

/// The most bytes of an incomplete character.
const MOST_CUT: usize = 3;

/// The beginning and the end of a block, where characters may be cut.
#[derive(Clone, Debug, Default)]
pub(super) struct Edges {
    /// The end of a character that began before the block, if there is one.
    head: Few,
    /// The beginning of a character that ends after the block.
    tail: Few,
    /// Whether the head is the whole block.
    is_head: bool,
}

/// The end of a text so far, where a character may be cut.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Seam(Few);

/// The number of characters of a text. Invalid bytes do not count.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub(super) struct Characters {
    count: u64,
    seam: Seam,
}

/// The characters of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct CharactersOf {
    between: u64,
    edges: Edges,
}

impl Few {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

impl From<&[u8]> for Few {
    fn from(bytes: &[u8]) -> Self {
        let mut few = Few::default();
        bytes.iter().for_each(|byte| few.push(*byte));
        few
    }
}

impl Edges {
    /// The edges of a block, and the bytes between them.
    pub(super) fn of(block: &[u8]) -> (Self, &[u8]) {
        let head = block.iter().take(MOST_CUT).take_while(|byte| continues(**byte)).count();
        let (head, rest) = block.split_at(head);
        let cut = (1..=MOST_CUT.min(rest.len())).find(|cut| is_begun(&rest[rest.len() - cut..])).unwrap_or(0);
        let (between, tail) = rest.split_at(rest.len() - cut);
        (Edges { head: head.into(), tail: tail.into(), is_head: rest.is_empty() }, between)
    }
}

impl Seam {
    /// Adds a block, and returns the character that begins before it and ends in it, if there is one.
    pub(super) fn join(&mut self, edges: &Edges) -> Option<char> {
        let mut cut = std::mem::take(&mut self.0);
        let mut whole = None;
        for byte in edges.head.bytes() {
            if cut.bytes().is_empty() {
                break;
            }
            cut.push(*byte);
            whole = from_utf8(cut.bytes()).ok().and_then(|text| text.chars().next());
            if whole.is_some() || !is_begun(cut.bytes()) {
                cut = Few::default();
            }
        }
        self.0 = if edges.is_head { cut } else { edges.tail };
        whole
    }
}

impl Characters {
    pub(super) fn append(&mut self, block: &CharactersOf) {
        self.count += block.between + u64::from(self.seam.join(&block.edges).is_some());
    }

    /// The number of characters if the text ends here.
    pub(super) fn count(&self) -> u64 {
        self.count
    }
}

impl CharactersOf {
    pub(super) fn block(block: &[u8]) -> Self {
        let (edges, mut bytes) = Edges::of(block);
        let mut between = 0;
        loop {
            match from_utf8(bytes) {
                Ok(_) => return CharactersOf { between: between + beginnings(bytes), edges },
                Err(error) => {
                    let (valid, rest) = bytes.split_at(error.valid_up_to());
                    between += beginnings(valid);
                    bytes = &rest[error.error_len().unwrap_or(rest.len())..];
                }
            }
        }
    }
}

/// The number of characters in valid UTF-8.
fn beginnings(valid: &[u8]) -> u64 {
    valid.iter().filter(|byte| !continues(**byte)).count() as u64
}

/// Whether a byte belongs to a character, but is not its first byte.
fn continues(byte: u8) -> bool {
    byte & 0b1100_0000 == 0b1000_0000
}

/// Whether these are the first bytes of a character, but not all of it.
fn is_begun(bytes: &[u8]) -> bool {
    from_utf8(bytes).is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The number of characters according to the standard library.
    fn expected(text: &[u8]) -> u64 {
        text.utf8_chunks().map(|chunk| chunk.valid().chars().count() as u64).sum()
    }

    fn counted<'a>(blocks: impl IntoIterator<Item = &'a [u8]>) -> u64 {
        let mut characters = Characters::default();
        blocks.into_iter().for_each(|block| characters.append(&CharactersOf::block(block)));
        characters.count()
    }

    #[test]
    fn no_cut_changes_the_count() {
        let texts: [&[u8]; 12] = [
            b"",
            b"to be",
            "été 言葉 😀 ß".as_bytes(),
            b"\x80\x80\x80\x80",
            b"\xf0\x9f\x98\x80\x80\x80",
            b"\xf0\x9f\x98",
            b"\xf0\x9fa\x98\x80",
            b"\xe2\xe2\x82\xac\xe2\x82",
            b"\xed\xa0\x80\xc0\x80\xf4\x90\x80\x80\xff\xf5\x80\x80\x80",
            b"\xe0\x80\x80\xe0\xa0\x80\xf0\x80\x80\x80",
            b"\xc3\xc3\xa9\xc3",
            b"a\xc3\xa9\xf4\x8f\xbf\xbfz",
        ];
        for text in texts {
            for first in 0..=text.len() {
                for second in first..=text.len() {
                    let blocks = [&text[..first], &text[first..second], &text[second..]];
                    assert_eq!(counted(blocks), expected(text), "{blocks:x?}");
                }
            }
            assert_eq!(counted(text.chunks(1)), expected(text), "{text:x?}");
        }
    }
}
