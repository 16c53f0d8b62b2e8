//! A file is known again by the bytes before a place in it.

use std::io::{self, Error, Read};
use std::path::Path;

/// The most bytes before a place that its hash covers.
const MOST: usize = 4096;

/// Where the bytes begin that are hashed for this place.
pub(crate) fn begin(place: u64) -> u64 {
    place.saturating_sub(MOST as u64)
}

/// The bytes before a place, as they were read: those that its hash covers, and perhaps some before them.
#[derive(Debug, Default)]
pub(crate) struct LastRead(Vec<u8>);

impl LastRead {
    /// Those before the place to which this reader leads from their [beginning](begin); fewer if it ends there.
    pub(crate) fn of(place: u64, reader: impl Read) -> io::Result<Self> {
        let mut bytes = Vec::new();
        reader.take(place - begin(place)).read_to_end(&mut bytes)?;
        Ok(LastRead(bytes))
    }

    /// These bytes were read, too.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        // Not at every short line.
        if self.0.len() + bytes.len() > 4 * MOST {
            self.0.drain(..self.0.len().saturating_sub(MOST));
        }
        self.0.extend_from_slice(&bytes[bytes.len().saturating_sub(MOST)..]);
    }

    pub(crate) fn hash(&self) -> u64 {
        crate::xxh64::xxh64(&self.0[self.0.len().saturating_sub(MOST)..])
    }
}

/// A hash, as positions have it.
pub(crate) fn shown(hash: u64) -> String {
    format!("{hash:016x}")
}

/// The hash of the bytes before this place, by a reader at their [beginning](begin); `None` if the reader ends before.
pub(crate) fn hash(place: u64, reader: impl Read) -> io::Result<Option<String>> {
    let last = LastRead::of(place, reader)?;
    Ok((last.0.len() as u64 == place - begin(place)).then(|| shown(last.hash())))
}

/// This error, with the file that it is about.
pub(crate) fn named(path: &Path, error: Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_were_passed_have_the_hash_of_the_bytes_of_the_file() {
        let text: Vec<u8> = (0..60_000_u32).map(|n| (n * 7 % 251) as u8).collect();
        for size in [1, 7, 1000, MOST - 1, MOST, MOST + 1, 3 * MOST + 5] {
            let (mut last, mut place) = (LastRead::default(), 0);
            for piece in text.chunks(size) {
                last.pass(piece);
                place += piece.len();
                if size >= 1000 || place % 613 == 0 {
                    let of_file = hash(place as u64, &text[begin(place as u64) as usize..]).unwrap();
                    assert_eq!(of_file, Some(shown(last.hash())), "{size}, {place}");
                }
                assert!(last.0.len() <= 5 * MOST, "{}", last.0.len());
            }
        }
        assert_eq!(hash(5000, &text[904..4999]).unwrap(), None);
    }
}
