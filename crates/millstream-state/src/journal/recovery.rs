//! What is in a journal's files when a process starts: what is whole, what was never finished, and what is damaged.
//!
//! A record that is not whole was never finished if nothing behind it says that its number was durable. Otherwise it
//! is damaged, and so is one in front of the last segment, since a segment is synced before the next one is made.

use super::segment::{Scan, Segment};
use super::{JournalError, JournalOptions};
use crate::disk::{Disk, OpenMode, read_exact};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What [`Journal::open`](super::Journal::open) found. As text it is one line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The first number that is there.
    pub first: u64,
    /// The number behind the last one that is there: the next one to append. In a new journal it is 0, as `first` is.
    pub next: u64,
    /// What was cut off at the end: a commit that was never finished.
    pub cut: Option<TornTail>,
    /// With [`skip_corrupt`](JournalOptions::skip_corrupt), the numbers that are lost, in order.
    pub lost: Vec<Range<u64>>,
}

/// The end of a journal that was written and never finished. None of its numbers was durable.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TornTail {
    /// The file.
    pub path: PathBuf,
    /// Where the tail began.
    pub offset: u64,
    /// Its bytes.
    pub bytes: u64,
}

impl fmt::Display for Recovered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.next - self.first {
            0 => write!(f, "the journal has no values, and {} is next", self.next)?,
            values => write!(f, "the journal has {values} values from {}, and {} is next", self.first, self.next)?,
        }
        if let Some(TornTail { path, offset, bytes }) = &self.cut {
            write!(f, "; {bytes} bytes that were never finished were cut off {} at {offset}", path.display())?;
        }
        for Range { start, end } in &self.lost {
            write!(f, "; the numbers from {start} to {} are lost", end - 1)?;
        }
        Ok(())
    }
}

/// The segments that are there, each with its bytes.
pub(super) type Segments = VecDeque<(Segment, u64)>;

/// Reads all of a journal, and leaves it so that new segments can follow: it has no tail, and is durable.
pub(super) fn recover(
    disk: &dyn Disk,
    dir: &Path,
    options: &JournalOptions,
    epoch: u64,
) -> Result<(Segments, Recovered), JournalError> {
    let all = Segment::list(disk, dir)?;
    if let Some(later) = all.iter().find(|segment| segment.epoch > epoch) {
        let (path, theirs, ours) = (later.path.clone(), later.epoch, epoch);
        return Err(JournalError::Superseded { path, theirs, ours });
    }
    let first = all.first().map_or(0, |segment| segment.base);
    let mut walk =
        Walk { expected: first, durable: first, lost: Vec::new(), open: VecDeque::new(), skip: options.skip_corrupt };
    let mut segments = Segments::new();
    let mut cut = None;
    for (segment, next) in all.iter().zip(all.iter().skip(1).map(Some).chain([None])) {
        let mut scan = Scan::open(disk, segment.clone())?;
        let end = walk.through(&mut scan, next.map(|next| next.base))?;
        if next.is_none() && end < scan.length {
            cut = Some(TornTail { path: segment.path.clone(), offset: end, bytes: scan.length - end });
        }
        segments.push_back((segment.clone(), end));
    }
    let (next, at_least) = (walk.expected, options.at_least);
    if next < at_least {
        return Err(JournalError::Behind { path: dir.to_owned(), next, at_least });
    }
    if let Some((Segment { path, .. }, end)) = segments.back() {
        // An empty one is needed by itself: its name has the next number.
        if *end == 0 && segments.len() > 1 {
            disk.remove(path).map_err(JournalError::io("remove", path))?;
            segments.pop_back();
        } else {
            settle(disk, path, walk.open.front().map_or(*end, |(offset, _)| *offset), *end)?;
        }
    }
    Ok((segments, Recovered { first, next, cut, lost: walk.lost }))
}

/// Cuts the tail off the last segment, and makes what is not proved to be durable so. It is written again: if a sync
/// of it failed in an earlier process, the system takes its pages for written, and a sync alone would do nothing.
///
/// Its name is durable, since it had one before its first record. One that is removed, and comes back with a crash,
/// has nothing that counts in front of the segment that follows.
fn settle(disk: &dyn Disk, path: &Path, unproved: u64, end: u64) -> Result<(), JournalError> {
    let mut file = disk.open(path, OpenMode::Write).map_err(JournalError::io("open", path))?;
    file.set_len(end).map_err(JournalError::io("cut", path))?;
    let mut chunk = Vec::new();
    let mut offset = unproved;
    while offset < end {
        chunk.resize((end - offset).min(64 << 10) as usize, 0);
        read_exact(&mut *file, &mut chunk, offset).map_err(JournalError::io("read", path))?;
        file.write_at(&chunk, offset).map_err(JournalError::io("write", path))?;
        offset += chunk.len() as u64;
    }
    file.sync().map_err(JournalError::io("sync", path))
}

/// What is known on the way through the records.
struct Walk {
    /// The number of the next value.
    expected: u64,
    /// Up to where the journal was durable, as records say.
    durable: u64,
    lost: Vec<Range<u64>>,
    /// The records of the present segment that no record says to be durable: where each begins, and its end.
    open: VecDeque<(u64, u64)>,
    skip: bool,
}

impl Walk {
    /// Reads a segment, up to the number where the next one begins, and returns where its whole records end.
    fn through(&mut self, scan: &mut Scan, until: Option<u64>) -> Result<u64, JournalError> {
        self.open.clear();
        let base = scan.segment.base;
        if base != self.expected {
            let why = format!("it begins with number {base}, and {} is next", self.expected);
            self.lose(scan, 0, base, &why)?;
        }
        // Behind the beginning of the next segment is what a process wrote that was taken for dead.
        while until.is_none_or(|until| self.expected < until) {
            let offset = scan.offset;
            match scan.next()? {
                Some(header) if header.first == self.expected => {
                    self.durable = self.durable.max(header.durable);
                    self.expected = header.end();
                    self.open.push_back((offset, header.end()));
                    while self.open.pop_front_if(|(_, end)| *end <= self.durable).is_some() {}
                }
                Some(header) => {
                    let why = format!("it has number {}, and {} is next", header.first, self.expected);
                    self.lose(scan, offset, header.first, &why)?;
                    scan.offset = offset;
                }
                None if until.is_none() && !self.was_durable(scan, offset)? => return Ok(offset),
                None => self.skip_damage(scan, offset, until)?,
            }
        }
        Ok(scan.offset)
    }

    /// Whether a record behind an offset says that the next number was durable.
    fn was_durable(&self, scan: &mut Scan, mut offset: u64) -> Result<bool, JournalError> {
        while let Some((found, header)) = scan.find_behind(offset)? {
            if header.durable > self.expected {
                return Ok(true);
            }
            offset = found;
        }
        Ok(false)
    }

    /// Goes on at the next whole record, or at the end of the segment.
    fn skip_damage(&mut self, scan: &mut Scan, offset: u64, until: Option<u64>) -> Result<(), JournalError> {
        let (at, number) = match scan.find_behind(offset)? {
            Some((at, header)) => (at, header.first.min(until.unwrap_or(u64::MAX))),
            None => (scan.length, until.unwrap_or(self.expected)),
        };
        let why = match number.saturating_sub(self.expected) {
            0 => format!("the record is not whole, at number {}", self.expected),
            _ => format!("the record is not whole; the numbers from {} to {} are lost", self.expected, number - 1),
        };
        self.lose(scan, offset, number, &why)?;
        scan.offset = at;
        Ok(())
    }

    /// Goes on at a later number, if damage is to be skipped.
    fn lose(&mut self, scan: &Scan, offset: u64, number: u64, why: &str) -> Result<(), JournalError> {
        if !self.skip || number < self.expected {
            return Err(JournalError::corrupt(&scan.segment.path, offset, why));
        }
        if number > self.expected {
            self.lost.push(self.expected..number);
            self.expected = number;
        }
        Ok(())
    }
}
