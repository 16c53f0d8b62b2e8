use super::{Cut, Splitter};
use crate::failure::fail;

/// Records of a fixed size. The last one of a text is shorter if the bytes do not fill it.
#[derive(Clone, Copy, Debug)]
pub struct Records {
    bytes: usize,
}

impl Records {
    /// Records of `bytes` bytes each.
    ///
    /// # Panics
    ///
    /// If `bytes` is 0.
    #[must_use]
    pub fn of(bytes: usize) -> Self {
        assert!(bytes > 0, "a record has at least one byte");
        Records { bytes }
    }

    /// The bytes of a record.
    #[must_use]
    pub fn bytes(self) -> usize {
        self.bytes
    }
}

/// Records after their length, which has 4 bytes and does not count itself.
///
/// If the text ends before a record does, cutting it [fails](crate::failure::fail): the run ends with an error.
#[derive(Clone, Copy, Debug)]
pub enum Prefixed {
    /// The highest byte of the length first.
    BigEndian,
    /// The lowest byte of the length first.
    LittleEndian,
}

impl Prefixed {
    /// The bytes of a length.
    pub const PREFIX: usize = 4;

    /// The end of the record whose length is at `from`, if all bytes of that length are there.
    #[must_use]
    #[inline(always)]
    pub fn end(self, text: &[u8], from: usize) -> Option<usize> {
        let prefix = *text.get(from..)?.first_chunk::<{ Self::PREFIX }>()?;
        let len = match self {
            Prefixed::BigEndian => u32::from_be_bytes(prefix),
            Prefixed::LittleEndian => u32::from_le_bytes(prefix),
        };
        (from + Self::PREFIX).checked_add(len as usize)
    }
}

/// The records of a text.
#[derive(Debug)]
pub struct RecordsOf<'a, K> {
    kind: K,
    text: &'a [u8],
    from: usize,
}

impl Iterator for RecordsOf<'_, Records> {
    type Item = Splitter;

    #[inline(always)]
    fn next(&mut self) -> Option<Splitter> {
        let from = self.from;
        if from >= self.text.len() {
            return None;
        }
        self.from = from + self.kind.bytes;
        Some(Splitter { range: from..self.from.min(self.text.len()), next: self.from })
    }
}

impl Iterator for RecordsOf<'_, Prefixed> {
    type Item = Splitter;

    #[inline(always)]
    fn next(&mut self) -> Option<Splitter> {
        let (from, len) = (self.from, self.text.len());
        if from >= len {
            return None;
        }
        let Some(end) = self.kind.end(self.text, from).filter(|end| *end <= len) else {
            fail(format!("the text ends in the middle of a record, which begins {} bytes before", len - from))
        };
        self.from = end;
        Some(Splitter { range: from + Prefixed::PREFIX..end, next: end })
    }
}

impl Cut<[u8]> for Records {
    type Pieces<'a> = RecordsOf<'a, Records>;
    const NAME: &'static str = "records";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a [u8], from: usize) -> RecordsOf<'a, Records> {
        RecordsOf { kind: *self, text, from }
    }
}

impl Cut<[u8]> for Prefixed {
    type Pieces<'a> = RecordsOf<'a, Prefixed>;
    const NAME: &'static str = "prefixed";

    #[inline(always)]
    fn pieces<'a>(&'a self, text: &'a [u8], from: usize) -> RecordsOf<'a, Prefixed> {
        RecordsOf { kind: *self, text, from }
    }
}
