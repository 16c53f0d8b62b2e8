//! Files that were rotated away while no process followed them.

use millstream_io::{Follow, FollowPlace, NextFile};
use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{self, Read, Seek, SeekFrom, Take};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How much of two files is compared to see that one is a copy of the other.
const COMPARED: u64 = 4096;

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
    let beginning = beginning(read)?;
    rotated(followed, |path, file| {
        let others = [Some(&first), named.as_ref()].into_iter().flatten().map(identity).all(|it| it != identity(file));
        // A file that had the name later was also written later.
        let is_later = made(file) > made(&first) && file.modified().ok() >= first.created().ok();
        Ok(others && is_later && !is_copy((&beginning, first.len()), (&self::beginning(path)?, file.len())))
    })
}

/// The files that have had the name `followed` since a time at which none had it, and have lost it, oldest first:
/// without the one that has it and is `named`.
pub(super) fn rotated_since(followed: &Path, since: SystemTime, named: Option<&Metadata>) -> io::Result<Vec<Rotated>> {
    let since = since.checked_sub(CLOCK_STEP);
    rotated(followed, |_, file| {
        let other = named.is_none_or(|named| identity(named) != identity(file));
        Ok(other && made(file) >= since && file.modified().ok() >= since)
    })
}

/// How far the time of a new file may be behind the clock: the kernel takes it from the last tick.
const CLOCK_STEP: Duration = Duration::from_millis(10);

/// The files of the directory that have the name of a rotation and belong to it, oldest first.
fn rotated(followed: &Path, mut belongs: impl FnMut(&Path, &Metadata) -> io::Result<bool>) -> io::Result<Vec<Rotated>> {
    let base = followed.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let directory = followed.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if !path.file_name().and_then(|name| name.to_str()).is_some_and(|name| is_rotation(base, name)) {
            continue;
        }
        let Ok(file) = fs::metadata(&path) else { continue };
        if file.is_file() && belongs(&path, &file)? {
            found.push((made(&file), identity(&file), path));
        }
    }
    found.sort();
    found.dedup_by_key(|(_, identity, _)| *identity);
    found.iter().map(|(_, _, path)| Rotated::of(File::open(path)?, 0)).collect()
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The time at which the file was made, or changed last if the file system does not keep that.
fn made(metadata: &Metadata) -> Option<SystemTime> {
    metadata.created().or_else(|_| metadata.modified()).ok()
}

fn beginning(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(COMPARED).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Whether the second file is a copy of the first one, by their beginnings and lengths. A longer file is none: an empty
/// file, or one that has only its header, is the beginning of every later one. An empty file is read as nothing.
fn is_copy((of, length): (&[u8], u64), (file, copied): (&[u8], u64)) -> bool {
    (1..=length).contains(&copied) && of.starts_with(file)
}

/// Whether a program that rotates the file `base` gives a name like this: `log.1`, `log-20261128`, `a-20261128.log`.
fn is_rotation(base: &str, name: &str) -> bool {
    let numbered = |middle: &str| {
        middle.starts_with(['.', '-', '_'])
            && middle.contains(|letter: char| letter.is_ascii_digit())
            && middle.chars().all(|letter| letter.is_ascii_digit() || ".-_:T".contains(letter))
    };
    let before_extension = || {
        let (stem, extension) = base.rsplit_once('.')?;
        name.strip_prefix(stem)?.strip_suffix(extension)?.strip_suffix('.')
    };
    name.strip_prefix(base).is_some_and(numbered) || before_extension().is_some_and(numbered)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_numbers_and_dates_are_rotations() {
        for name in ["log.1", "log-20261128", "log.2026-11-28_10:00", "log.2026-11-28T10"] {
            assert!(is_rotation("log", name), "{name}");
        }
        assert!(is_rotation("a.log", "a.log.1") && is_rotation("a.log", "a-20261128.log"));
        for name in ["log", "log.bak", "log.1.gz", "log2", "logs.1", "log.", "log-old", ".log.1"] {
            assert!(!is_rotation("log", name), "{name}");
        }
        for name in ["a.log", "a-errors.log", "ab-1.log", "a-1.txt"] {
            assert!(!is_rotation("a.log", name), "{name}");
        }
    }

    #[test]
    fn a_file_that_another_one_begins_with_is_a_copy() {
        let is_copy = |of: &[u8], file: &[u8]| is_copy((of, of.len() as u64), (file, file.len() as u64));
        assert!(is_copy(b"one\ntwo\n", b"one\n") && is_copy(b"one\n", b"one\n"));
        assert!(!is_copy(b"one\n", b"two\n") && !is_copy(b"one\n", b"one\ntwo\n"));
        assert!(!is_copy(b"", b"one\n") && !is_copy(b"one\n", b""));
    }
}
