//! Counters of a text that arrives in blocks, which agree with GNU `wc` under `LC_ALL=C`.

mod words;

pub use words::Words;

/// The number of lines that end in `bytes`, which is the number of its line feeds.
#[must_use]
pub fn line_ends(bytes: &[u8]) -> u64 {
    bytecount::count(bytes, b'\n') as u64
}

/// The six white space characters of the C locale.
#[must_use]
pub const fn is_space(byte: u8) -> bool {
    // The compiler may turn a `match` into a table, which cannot be vectorised.
    (byte == b' ') | (byte.wrapping_sub(b'\t') <= b'\r' - b'\t')
}

/// The characters that make a run of non-space bytes a word. Other bytes are part of a word only in such a run.
#[must_use]
pub const fn is_graphic(byte: u8) -> bool {
    matches!(byte, 0x21..=0x7e)
}
