//! Files that were rotated away, by their names.

use std::collections::VecDeque;
use std::fs::{self, File, Metadata};
use std::io::{ErrorKind, Result};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How much of two files is compared to see that one is a copy of the other.
const COMPARED: usize = 4096;

/// How far the time of a new file may be behind the clock: the kernel takes it from the last tick.
pub const CLOCK_STEP: Duration = Duration::from_millis(10);

/// How many files that were read are known again. More of them are not made within one step of the clock.
const MOST_READ: usize = 64;

/// How often the directory is listed: files may be renamed meanwhile.
const MOST_LOOKS: u32 = 3;

/// The files of its directory that have the name of a rotation of the file `followed` and belong to it, oldest first.
pub fn rotations(followed: &Path, mut belongs: impl FnMut(&Path, &Metadata) -> Result<bool>) -> Result<Vec<File>> {
    for _ in 1..MOST_LOOKS {
        match listed(followed, &mut belongs) {
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            found => return found,
        }
    }
    listed(followed, &mut belongs)
}

fn listed(followed: &Path, belongs: &mut impl FnMut(&Path, &Metadata) -> Result<bool>) -> Result<Vec<File>> {
    let base = followed.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let mut found = Vec::new();
    for entry in fs::read_dir(directory_of(followed))? {
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
    found.iter().map(|(.., path)| File::open(path)).collect()
}

fn directory_of(file: &Path) -> &Path {
    file.parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
}

/// The device and the inode.
pub fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// The time at which the file was made, or changed last if the file system does not keep that.
pub fn made(metadata: &Metadata) -> Option<SystemTime> {
    metadata.created().or_else(|_| metadata.modified()).ok()
}

/// The first bytes of a file, by which a copy is known.
pub fn beginning(file: &File) -> Result<Vec<u8>> {
    let mut bytes = vec![0; COMPARED];
    let mut filled = 0;
    while filled < COMPARED {
        match file.read_at(&mut bytes[filled..], filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// Whether the second file is a copy of the first one, by their beginnings and lengths. A longer file is none: an empty
/// file, or one that has only its header, is the beginning of every later one. An empty file is read as nothing.
pub fn is_copy((of, length): (&[u8], u64), (file, copied): (&[u8], u64)) -> bool {
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

/// What a reader knows of the files that had the name while it did not look.
#[derive(Debug, Default)]
pub(super) struct Unseen {
    /// Every file that was made before this time, and had the name, is read or known. `None` before the first look.
    since: Option<SystemTime>,
    /// The files that were read last: their identities, and when they were made.
    read: VecDeque<((u64, u64), Option<SystemTime>)>,
}

impl Unseen {
    /// At this time the file that is read had the name, or no file had it.
    pub(super) fn seen(&mut self, at: SystemTime) {
        self.since = Some(at);
    }

    /// Every file that was made before this one is known.
    pub(super) fn seen_before(&mut self, file: &Metadata) {
        self.since = made(file).and_then(|made| made.checked_add(CLOCK_STEP + Duration::from_nanos(1)));
    }

    /// This file is read.
    pub(super) fn reads(&mut self, file: &Metadata) {
        if self.read.len() == MOST_READ {
            self.read.pop_front();
        }
        self.read.push_back((identity(file), file.created().ok()));
    }

    /// The files that had the name after the one that was read, and lost it before the one that is `named`, oldest
    /// first. A copy of the file that was read is none of them, and neither is an older file that was made again.
    pub(super) fn files(&self, followed: &Path, last: Option<&File>, named: Option<&Metadata>) -> Result<Vec<File>> {
        let Some(since) = self.since.and_then(|since| since.checked_sub(CLOCK_STEP)) else { return Ok(Vec::new()) };
        let last = last.map(|last| Ok::<_, std::io::Error>((beginning(last)?, last.metadata()?.len()))).transpose()?;
        let found = rotations(followed, |path, metadata| {
            let is_later = made(metadata) >= Some(since) && metadata.modified().ok() >= Some(since);
            let is_read = || self.read.contains(&(identity(metadata), metadata.created().ok()));
            let is_named = || named.is_some_and(|named| identity(named) == identity(metadata));
            if !is_later || is_read() || is_named() {
                return Ok(false);
            }
            let Some((begins, length)) = &last else { return Ok(true) };
            Ok(!is_copy((begins, *length), (&beginning(&File::open(path)?)?, metadata.len())))
        });
        match found {
            // A directory that cannot be listed tells nothing.
            Err(error) if error.kind() == ErrorKind::PermissionDenied && cannot_list(followed) => Ok(Vec::new()),
            found => found,
        }
    }
}

fn cannot_list(followed: &Path) -> bool {
    fs::read_dir(directory_of(followed)).is_err()
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
