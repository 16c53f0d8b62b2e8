//! The bytes of one commit.
//!
//! | bytes | what |
//! | --- | --- |
//! | 4 | `msjr` |
//! | 2 | the number of the format: 1, or 2 where a flag is set |
//! | 2 | flags: 1 for a payload that is compressed; a record with another one is of a later format |
//! | 8 | the epoch of the writer |
//! | 8 | the number of the first value |
//! | 8 | up to where the journal was durable before this commit |
//! | 4 | the number of values |
//! | 4 | the length of the payload |
//! | 4 | 0 |
//! | 4 | CRC-32 |
//! | length | the payload: for each value its length, 4 bytes, and its bytes; all of it compressed, or as it is |
//!
//! Integers are little-endian. The checksum is over the first number of the segment, the offset of the record in it,
//! the header so far, and the payload: so a record that is copied to another place, into a value for example, is not
//! valid there.

pub(crate) const HEADER: usize = 48;
const MAGIC: &[u8; 4] = b"msjr";
/// The last format that is read.
pub(crate) const FORMAT: u32 = 2;
/// The format of a record whose payload is as it is, and that of one whose payload is compressed.
pub(crate) const PLAIN: u32 = 1;
pub(crate) const PACKED: u32 = 2 | 1 << 16;

/// Where a record is: the first number of its segment, and its offset there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) base: u64,
    pub(crate) offset: u64,
}

/// The header before the values of one commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    /// With the flags in its upper half, as a format with flags is a later one.
    pub(crate) format: u32,
    pub(crate) epoch: u64,
    pub(crate) first: u64,
    pub(crate) durable: u64,
    pub(crate) count: u32,
    pub(crate) length: u32,
}

impl Header {
    /// The number after the last value.
    pub(crate) fn end(&self) -> u64 {
        self.first + u64::from(self.count)
    }

    /// The bytes of the record, header included.
    pub(crate) fn record_length(&self) -> u64 {
        HEADER as u64 + u64::from(self.length)
    }

    /// The header of these bytes, if they begin as one. Its checksum is not looked at.
    pub(crate) fn parse(bytes: &[u8; HEADER]) -> Option<Self> {
        let mut rest = bytes.strip_prefix(MAGIC)?;
        let mut word = |length: usize| {
            let (word, behind) = rest.split_at(length);
            rest = behind;
            word.iter().rev().fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
        };
        let (format, epoch, first, durable) = (word(4), word(8), word(8), word(8));
        let (count, length, zero) = (word(4), word(4), word(4));
        let half = |word: u64| u32::try_from(word).ok();
        let (format, count, length) = (half(format)?, half(count)?, half(length)?);
        let numbers = first.checked_add(count.into());
        (zero == 0 && numbers.is_some()).then_some(Header { format, epoch, first, durable, count, length })
    }

    /// Writes the header into the first bytes of a record, which have room for it before the payload.
    pub(crate) fn write(&self, record: &mut [u8], place: Place) {
        let (header, payload) = record.split_at_mut(HEADER);
        let mut bytes = Vec::with_capacity(HEADER);
        bytes.extend(MAGIC);
        bytes.extend(self.format.to_le_bytes());
        bytes.extend(self.epoch.to_le_bytes());
        bytes.extend(self.first.to_le_bytes());
        bytes.extend(self.durable.to_le_bytes());
        bytes.extend(self.count.to_le_bytes());
        bytes.extend(self.length.to_le_bytes());
        bytes.extend(0_u32.to_le_bytes());
        let sum = checksum(place, &bytes, payload);
        bytes.extend(sum.to_le_bytes());
        header.copy_from_slice(&bytes);
    }
}

fn checksum(place: Place, header: &[u8], payload: &[u8]) -> u32 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&place.base.to_le_bytes());
    sum.update(&place.offset.to_le_bytes());
    sum.update(header);
    sum.update(payload);
    sum.finalize()
}

/// Whether a record is as it was written, at its place.
pub(crate) fn is_whole(place: Place, header: &[u8; HEADER], payload: &[u8]) -> bool {
    let (header, sum) = header.split_at(HEADER - 4);
    checksum(place, header, payload).to_le_bytes() == sum
}

/// Appends a value to a payload.
pub(crate) fn push(payload: &mut Vec<u8>, value: &[u8]) {
    let length = u32::try_from(value.len()).expect("the journal refuses longer values");
    payload.extend(length.to_le_bytes());
    payload.extend(value);
}

/// The first value of the rest of a payload, and the bytes after it.
pub(crate) fn split_value(payload: &[u8]) -> Option<(&[u8], &[u8])> {
    let (length, rest) = payload.split_first_chunk::<4>()?;
    rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
}

/// Whether a payload has this number of values and nothing else.
pub(crate) fn has_values(mut payload: &[u8], count: u32) -> bool {
    for _ in 0..count {
        let Some((_, rest)) = split_value(payload) else { return false };
        payload = rest;
    }
    payload.is_empty()
}

/// Where the bytes of the next header may begin.
pub(crate) fn find_magic(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MAGIC.len()).position(|window| window == MAGIC)
}
