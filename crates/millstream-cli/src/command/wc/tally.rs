use super::characters::{Characters, CharactersOf};
use super::kinds::{Counts, Kinds};
use super::width::{Widest, WidestOf};
use crate::deploy::Hashed;
use millstream_io::text::{Words, line_ends};
use std::borrow::Cow;

/// The counts of a block, of the chosen kinds, whatever is before and after it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Part {
    pub(super) lines: u64,
    pub(super) words: Words,
    pub(super) bytes: u64,
    characters: CharactersOf,
    widest: WidestOf,
}

impl Part {
    pub(super) fn of(kinds: Kinds, block: &[u8]) -> Self {
        let mut part = Part::default();
        if kinds.lines {
            part.lines = line_ends(block);
        }
        if kinds.words {
            part.words.read(block);
        }
        if kinds.chars {
            part.characters = CharactersOf::block(block);
        }
        if kinds.bytes {
            part.bytes = block.len() as u64;
        }
        if kinds.width {
            part.widest = WidestOf::block(block);
        }
        part
    }
}

/// The counts of a text, of the chosen kinds.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub(super) struct Tally {
    kinds: Kinds,
    lines: u64,
    words: Words,
    bytes: u64,
    characters: Characters,
    widest: Widest,
}

impl Tally {
    pub(super) fn of(kinds: Kinds) -> Self {
        let (characters, widest) = (Characters::default(), Widest::default());
        Tally { kinds, lines: 0, words: Words::default(), bytes: 0, characters, widest }
    }

    /// Adds the next block.
    pub(super) fn append(&mut self, part: &Part) {
        self.lines += part.lines;
        self.words.append(&part.words);
        self.bytes += part.bytes;
        self.characters.append(&part.characters);
        self.widest.append(&part.widest);
    }

    /// The counts if the text ends here.
    pub(super) fn counts(&self) -> Counts {
        Counts {
            lines: self.lines,
            words: self.words.count(),
            chars: self.characters.count(),
            bytes: self.bytes,
            width: self.widest.width(),
            ..Counts::of(self.kinds)
        }
    }
}

impl Hashed for Part {
    fn bytes(&self) -> Cow<'_, [u8]> {
        format!("{self:?}").into_bytes().into()
    }
}
