//! A file is known again by the bytes before a place in it.

use std::io::{self, Error, Read};
use std::path::Path;

/// The most bytes before a place that its hash covers.
const BEFORE: u64 = 4096;

/// Where the bytes begin that are hashed for this place.
pub(crate) fn begin(place: u64) -> u64 {
    place.saturating_sub(BEFORE)
}

/// The hash of the bytes before this place, by a reader at their [beginning](begin); `None` if the reader ends before.
pub(crate) fn hash(place: u64, reader: impl Read) -> io::Result<Option<String>> {
    let length = place - begin(place);
    let mut bytes = Vec::new();
    reader.take(length).read_to_end(&mut bytes)?;
    Ok((bytes.len() as u64 == length).then(|| format!("{:016x}", crate::xxh64::xxh64(&bytes))))
}

/// This error, with the file that it is about.
pub(crate) fn named(path: &Path, error: Error) -> Error {
    Error::new(error.kind(), format!("{}: {error}", path.display()))
}
