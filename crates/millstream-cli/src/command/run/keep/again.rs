//! Reads files again from a place on, and recognizes them by the bytes before it.

use super::super::fetched::fetched;
use super::super::sink_file::is_url;
use crate::hash::Hash;
use crate::input::{Counted, Opening, not_output};
use millstream_core::SequenceNumber;
use millstream_io::Decompressed;
use millstream_mill::FilePlace;
use serde::{Deserialize, Serialize};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Error, ErrorKind, Read};
use std::path::Path;

/// The last bytes of a file that were passed on. The file is recognized by them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Before {
    bytes: u64,
    hash: u64,
}

impl Before {
    const MOST: usize = 1024;

    pub(super) fn of(bytes: &[u8]) -> Self {
        let bytes = &bytes[bytes.len().saturating_sub(Self::MOST)..];
        let mut hash = Hash::default();
        hash.slot(SequenceNumber(0), bytes);
        Before { bytes: bytes.len() as u64, hash: hash.state() }
    }
}

/// Opens the file at a place. A URL is read again up to there.
pub(super) fn file_from(
    name: &OsStr,
    at: &FilePlace,
    before: Before,
    opening: &Opening,
) -> io::Result<Box<dyn Read + Send>> {
    let skipped = at.offset - before.bytes;
    if let Some(url) = name.to_str().filter(|name| is_url(name)) {
        return read_again(Box::new(Decompressed::named(fetched(url, opening)?, Path::new(name))), at, before);
    }
    let from = Decompressed::named(Counted(regular(name)?), Path::new(name));
    let from = if at.offset > 0 { from.from_offset(skipped)? } else { from };
    Ok(Box::new(known_again(from, at, before)?))
}

/// Whether the bytes before the place are the same as before. A URL is fetched only when its rows are read.
pub(super) fn check(name: &OsStr, at: &FilePlace, before: Before) -> io::Result<()> {
    if name.to_str().is_some_and(is_url) {
        return Ok(());
    }
    let from = Decompressed::named(regular(name)?, Path::new(name));
    if at.offset == 0 { Ok(()) } else { known_again(from.from_offset(at.offset - before.bytes)?, at, before).map(drop) }
}

/// The file, if it can be read again. A pipe is not opened, which would wait for a writer.
fn regular(name: &OsStr) -> io::Result<File> {
    if !fs::metadata(name)?.is_file() {
        let why = "it is not a regular file, so it cannot be read again after a crash: \
                   pass it as standard input, which goes to a journal";
        return Err(Error::new(ErrorKind::InvalidInput, why));
    }
    let file = File::open(name)?;
    not_output(&file)?;
    Ok(file)
}

/// Reads from the beginning again, and skips up to a place.
pub(super) fn read_again(
    mut from: Box<dyn Read + Send>,
    at: &FilePlace,
    before: Before,
) -> io::Result<Box<dyn Read + Send>> {
    io::copy(&mut (&mut from).take(at.offset - before.bytes), &mut io::sink())?;
    Ok(Box::new(known_again(from, at, before)?))
}

/// The bytes from a place on, if the bytes before it are the same as before.
fn known_again<R: Read>(mut from: R, at: &FilePlace, before: Before) -> io::Result<R> {
    if at.offset == 0 {
        return Ok(from);
    }
    let mut there = Vec::new();
    (&mut from).take(before.bytes).read_to_end(&mut there)?;
    if (there.len() as u64) < before.bytes {
        let why = format!("it is shorter than the {} bytes that were read from it", at.offset);
        return Err(Error::new(ErrorKind::InvalidData, why));
    }
    if Before::of(&there) != before {
        let why = format!("its bytes before byte {} have changed since they were read", at.offset);
        return Err(Error::new(ErrorKind::InvalidData, why));
    }
    Ok(from)
}
