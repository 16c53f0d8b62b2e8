use crate::deploy::Hashed;
use std::borrow::Cow;
use std::ops::AddAssign;

/// The kinds of counts to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Kinds {
    pub(crate) lines: bool,
    pub(crate) words: bool,
    pub(crate) chars: bool,
    pub(crate) bytes: bool,
    /// The width of the widest line.
    pub(crate) width: bool,
}

impl Kinds {
    pub(crate) const NONE: Kinds = Kinds { lines: false, words: false, chars: false, bytes: false, width: false };

    /// The kinds that are printed by default.
    pub(crate) const USUAL: Kinds = Kinds { lines: true, words: true, bytes: true, ..Kinds::NONE };

    /// The number of kinds.
    pub(super) fn number(self) -> usize {
        self.of(&Counts::default()).count()
    }

    /// The counts of these kinds, in the order in which they are printed.
    pub(super) fn of(self, counts: &Counts) -> impl Iterator<Item = u64> + use<> {
        let Counts { lines, words, chars, bytes, width, .. } = *counts;
        let all =
            [(self.lines, lines), (self.words, words), (self.chars, chars), (self.bytes, bytes), (self.width, width)];
        all.into_iter().filter(|(wanted, _)| *wanted).map(|(_, count)| count)
    }
}

/// The counts of an input. A kind that is not printed is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(super) kinds: Kinds,
    pub(super) lines: u64,
    pub(super) words: u64,
    pub(super) chars: u64,
    pub(super) bytes: u64,
    pub(super) width: u64,
}

impl Counts {
    /// The counts of an empty input.
    pub(super) fn of(kinds: Kinds) -> Self {
        Counts { kinds, lines: 0, words: 0, chars: 0, bytes: 0, width: 0 }
    }
}

impl Default for Counts {
    fn default() -> Self {
        Counts::of(Kinds::USUAL)
    }
}

/// Adds the counts of another input. The widest line is that of one of the two.
impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.lines += other.lines;
        self.words += other.words;
        self.chars += other.chars;
        self.bytes += other.bytes;
        self.width = self.width.max(other.width);
    }
}

impl Hashed for Counts {
    fn bytes(&self) -> Cow<'_, [u8]> {
        self.kinds.of(self).flat_map(u64::to_le_bytes).collect()
    }
}
