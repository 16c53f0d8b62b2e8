//! Files that were rotated away while no process followed them.

use millstream_io::rotated::{CLOCK_STEP, beginning, identity, is_copy, made, rotations};
use millstream_io::{Follow, FollowPlace, NextFile};
use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::path::Path;
use std::time::SystemTime;

/// A file that was rotated away, or is the last one, at the place from which it is read, and the number of bytes after
/// that place.
pub(super) struct Rotated {
    file: File,
    place: FollowPlace,
    bytes: u64,
}

impl Rotated {
    pub(super) fn of(mut file: File, offset: u64) -> io::Result<Self> {
        let metadata = file.metadata()?;
        file.seek(SeekFrom::Start(offset))?;
        let (device, inode) = identity(&metadata);
        let place = FollowPlace { device, inode, offset };
        Ok(Rotated { file, place, bytes: metadata.len().saturating_sub(offset) })
    }

    /// Where its reading begins, and how many bytes are read.
    pub(super) fn part(&self) -> (FollowPlace, u64) {
        (self.place, self.bytes)
    }

    /// A reader of all that is written to this file until another one has the name, and then of that one.
    pub(super) fn before(self, follow: Follow) -> io::Result<Follow> {
        follow.from_file(self.file, self.place.offset)
    }
}

/// The bytes of files, one after the other. After each of them another one begins.
#[derive(Debug)]
pub(super) struct RotatedBytes(VecDeque<Take<File>>);

impl RotatedBytes {
    pub(super) fn of(files: Vec<Rotated>) -> Self {
        RotatedBytes(files.into_iter().map(|Rotated { file, bytes, .. }| file.take(bytes)).collect())
    }

    /// These bytes of these files.
    pub(super) fn parts<const N: usize>(parts: [Take<File>; N]) -> Self {
        RotatedBytes(parts.into())
    }
}

impl Read for RotatedBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = self.0.front_mut() else { return Ok(0) };
        match file.read(buffer)? {
            0 if !buffer.is_empty() => {
                self.0.pop_front();
                Err(NextFile.into())
            }
            read => Ok(read),
        }
    }
}

/// The files that had the name `followed` after the one that is at `read` now, and lost it before the one that has it:
/// those of the same directory whose names are this one with a number or a date, oldest first. A copy of the read file
/// is none of them, and neither is an older file that was made again, as by `gunzip`.
pub(super) fn rotated_after(followed: &Path, read: &Path) -> io::Result<Vec<Rotated>> {
    let (first, named) = (fs::metadata(read)?, fs::metadata(followed).ok());
    let begins = beginning(&File::open(read)?)?;
    let found = rotations(followed, |path, file| {
        let others = [Some(&first), named.as_ref()].into_iter().flatten().map(identity).all(|it| it != identity(file));
        // A file that had the name later was also written later.
        let is_later = made(file) > made(&first) && file.modified().ok() >= first.created().ok();
        Ok(others && is_later && !is_copy((&begins, first.len()), (&beginning(&File::open(path)?)?, file.len())))
    })?;
    from_their_beginnings(found)
}

/// The files that have had the name `followed` since a time at which none had it, and have lost it, oldest first:
/// without the one that has it and is `named`.
pub(super) fn rotated_since(followed: &Path, since: SystemTime, named: Option<&Metadata>) -> io::Result<Vec<Rotated>> {
    let since = since.checked_sub(CLOCK_STEP);
    let found = rotations(followed, |_, file| {
        let other = named.is_none_or(|named| identity(named) != identity(file));
        Ok(other && made(file) >= since && file.modified().ok() >= since)
    })?;
    from_their_beginnings(found)
}

fn from_their_beginnings(files: Vec<File>) -> io::Result<Vec<Rotated>> {
    files.into_iter().map(|file| Rotated::of(file, 0)).collect()
}
