//! Cuts bytes that come in any pieces into records, each after its length.

use std::fmt;

/// The number of bytes of a length.
const LENGTH: usize = 4;

/// Cuts bytes that come in any pieces into records. Each record comes after its length, as four bytes, the highest
/// first.
///
/// ```
/// use millstream::net::WholeRecords;
///
/// let mut records = WholeRecords::new(1024);
/// assert!(records.push(&[0, 0, 0, 3, b'o', b'n'])?.is_empty());
/// assert_eq!(records.push(&[b'e', 0, 0, 0, 0, 0])?, [b"one".to_vec(), b"".to_vec()]);
/// assert!(records.is_within()); // a length has begun
/// # Ok::<(), millstream::net::RecordTooLong>(())
/// ```
#[derive(Debug)]
pub struct WholeRecords {
    longest: usize,
    /// The beginning of a record, with its length or a part of the length.
    begun: Vec<u8>,
}

/// A record is too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordTooLong {
    /// The most bytes of a record, without its length.
    pub longest: usize,
    /// The length that the record's header states.
    pub length: u32,
}

impl fmt::Display for RecordTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a record has {} bytes, but may have at most {}", self.length, self.longest)
    }
}

impl std::error::Error for RecordTooLong {}

impl WholeRecords {
    /// Records may have at most this many bytes.
    #[must_use]
    pub fn new(longest: usize) -> Self {
        WholeRecords { longest, begun: Vec::new() }
    }

    /// The whole records that these bytes complete. Keeps less than a record for the next call.
    ///
    /// # Errors
    ///
    /// If a record's length is too large, before the record has arrived. The records of this call before it are lost.
    pub fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Vec<u8>>, RecordTooLong> {
        let mut records = Vec::new();
        loop {
            let length_missing = LENGTH.saturating_sub(self.begun.len());
            if bytes.len() < length_missing {
                break;
            }
            if length_missing > 0 {
                let (length, rest) = bytes.split_at(length_missing);
                self.begun.extend_from_slice(length);
                bytes = rest;
            }
            let missing = self.length()? + LENGTH - self.begun.len();
            if bytes.len() < missing {
                break;
            }
            let (record, rest) = bytes.split_at(missing);
            bytes = rest;
            // A record that comes as a whole, as most do, is copied once.
            if self.begun.len() == LENGTH {
                self.begun.clear();
                records.push(record.to_vec());
            } else {
                self.begun.extend_from_slice(record);
                self.begun.drain(..LENGTH);
                records.push(std::mem::take(&mut self.begun));
            }
        }
        self.begun.extend_from_slice(bytes);
        Ok(records)
    }

    /// The length of the record that has begun.
    fn length(&self) -> Result<usize, RecordTooLong> {
        let bytes = self.begun[..LENGTH].try_into().expect("four bytes are there");
        let length = u32::from_be_bytes(bytes);
        match usize::try_from(length) {
            Ok(fits) if fits <= self.longest => Ok(fits),
            _ => Err(RecordTooLong { longest: self.longest, length }),
        }
    }

    /// Whether a record is incomplete.
    #[must_use]
    pub fn is_within(&self) -> bool {
        !self.begun.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::{RecordTooLong, WholeRecords};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn records_are_what_was_written_however_they_are_cut(
            records in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..20), 0..20),
            cuts in proptest::collection::vec(0_usize..9, 0..60),
        ) {
            let bytes: Vec<u8> =
                records.iter().flat_map(|record| [&(record.len() as u32).to_be_bytes()[..], record].concat()).collect();
            let (mut whole, mut rest, mut got) = (WholeRecords::new(19), &bytes[..], Vec::new());
            for cut in cuts.into_iter().chain([usize::MAX]) {
                let (piece, left) = rest.split_at(cut.min(rest.len()));
                rest = left;
                got.extend(whole.push(piece).unwrap());
                prop_assert!(records.starts_with(&got));
            }
            prop_assert!(got == records && !whole.is_within());
        }
    }

    #[test]
    fn a_record_that_is_too_long_is_refused_before_it_is_there() {
        let mut records = WholeRecords::new(3);
        assert_eq!(records.push(&[0, 0, 0]), Ok(Vec::new()));
        assert_eq!(records.push(&[4]), Err(RecordTooLong { longest: 3, length: 4 }));
        let greatest = WholeRecords::new(3).push(&[255; 4]).unwrap_err();
        assert_eq!(greatest.to_string(), "a record has 4294967295 bytes, but may have at most 3");
    }
}
