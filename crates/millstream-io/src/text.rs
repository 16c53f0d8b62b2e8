//! What can be counted in a text that arrives in blocks, as `LC_ALL=C` GNU `wc` counts it.

mod words;

pub use words::Words;

/// How many lines end in `bytes`: the number of its line feeds.
#[must_use]
pub fn line_ends(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// The six white space characters of C's own locale.
#[must_use]
pub const fn is_space(byte: u8) -> bool {
    // Not as a `match`, which the compiler may make a table of: no vector does many of those at once.
    (byte == b' ') | (byte.wrapping_sub(b'\t') <= b'\r' - b'\t')
}

/// The characters that make a run of non-space bytes a word; all others are part of a word or of none.
#[must_use]
pub const fn is_graphic(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e)
}
