//! Sorts the records of a journal's files when a process starts: whole, never finished, or damaged.
//!
//! A record that is not whole was never finished if no later record says that its number was durable. Otherwise it is
//! damaged. So is any such record before the last segment, since a segment is synced before the next one is made.

use super::segment::{Scan, Segment};
use super::{JournalError, JournalOptions, ReadTo};
use crate::disk::{Disk, OpenMode, read_exact};
use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The findings of [`Journal::open`](super::Journal::open). The text is one line for a log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovered {
    /// The first number that is there.
    pub first: u64,
    /// The number after the last one that is there: the next one to append. In a new journal it is 0, as `first` is.
    pub next: u64,
    /// The tail that was cut off: a commit that was never finished.
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
            write!(f, "; {bytes} bytes of an unfinished record were cut off {} at byte {offset}", path.display())?;
        }
        for Range { start, end } in &self.lost {
            write!(f, "; the numbers from {start} to {} are lost", end - 1)?;
        }
        Ok(())
    }
}

/// The segments that are there, each with its bytes.
pub(super) type Segments = VecDeque<(Segment, u64)>;

/// Reads all of a journal, or the part after a place, and leaves it so that new segments can follow: without a tail,
/// and durable. The last result is the number up to which a reader knows that it is.
pub(super) fn recover(
    disk: &dyn Disk,
    dir: &Path,
    options: &JournalOptions,
    epoch: u64,
    read: Option<&ReadTo>,
) -> Result<(Segments, Recovered, u64), JournalError> {
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
    // If the segment is gone or was cut, the place says nothing about the present files.
    let read = read.filter(|read| all.contains(&read.segment));
    for (segment, next) in all.iter().zip(all.iter().skip(1).map(Some).chain([None])) {
        let mut scan = Scan::open(disk, segment.clone())?;
        if let Some(ReadTo { segment: last, offset, next }) = read
            && (segment.base, segment.epoch) <= (last.base, last.epoch)
        {
            if segment != last {
                segments.push_back((segment.clone(), scan.length));
                continue;
            }
            if *offset <= scan.length {
                (walk.expected, walk.durable, scan.offset) = (*next, *next, *offset);
            } else {
                walk.expected = segment.base;
            }
        }
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
    let known = segments.back().map_or(next, |(last, _)| walk.durable.max(last.base));
    Ok((segments, Recovered { first, next, cut, lost: walk.lost }, known))
}

/// Cuts the tail off the last segment, and makes the part durable that is not proved to be so. That part is written
/// again: if a sync failed in an earlier process, the system takes its pages for written, and a sync alone would do
/// nothing.
///
/// The segment's name is durable, since the segment got it before its first record. A removed segment that comes back
/// with a crash has no record that counts before the next segment.
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

/// The findings so far, on the way through the records.
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
        if base != self.expected && scan.offset == 0 {
            let why = format!("it begins with number {base}, where {} is next", self.expected);
            self.lose(scan, 0, base, &why)?;
        }
        // Records past the beginning of the next segment are those of a process that was taken for dead.
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
                    let why = format!("it has number {}, where {} is next", header.first, self.expected);
                    self.lose(scan, offset, header.first, &why)?;
                    scan.offset = offset;
                }
                None if until.is_none() && !self.was_durable(scan, offset)? => return Ok(offset),
                None => self.skip_damage(scan, offset, until)?,
            }
        }
        Ok(scan.offset)
    }

    /// Whether a record after an offset says that the next number was durable.
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
            0 => format!("the record of number {} is not complete", self.expected),
            _ => format!("a record is not complete; the numbers from {} to {} are lost", self.expected, number - 1),
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

#[cfg(test)]
mod tests {
    use super::super::{Journal, JournalReader, Records};
    use super::*;
    use crate::disk::RealDisk;
    use std::fs;
    use std::sync::Arc;

    const SMALL: JournalOptions = JournalOptions {
        segment_bytes: 300,
        max_bytes: 1 << 20,
        group_bytes: 1 << 20,
        fsync: super::super::Fsync::Every,
        compress: false,
        skip_corrupt: false,
        at_least: 0,
    };

    fn open(dir: &Path, epoch: u64) -> Journal {
        Journal::open(Arc::new(RealDisk), dir, SMALL, epoch).unwrap().0
    }

    fn commit(journal: &mut Journal, values: u64) {
        for _ in 0..values {
            let number = journal.next_number();
            journal.append(number, &vec![number as u8; (number * 37 % 91) as usize]).unwrap();
        }
        journal.commit().unwrap();
    }

    fn copied(from: &Path, to: PathBuf) -> PathBuf {
        fs::create_dir(&to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let path = entry.unwrap().path();
            fs::copy(&path, to.join(path.file_name().unwrap())).unwrap();
        }
        to
    }

    /// All findings of an opened journal.
    fn recovered(dir: &Path, read: Option<&ReadTo>) -> (Segments, Recovered) {
        let moved =
            read.map(|read| ReadTo { segment: Segment::new(dir, read.segment.base, read.segment.epoch), ..*read });
        let (mut segments, mut found, _) = recover(&RealDisk, dir, &SMALL, 100, moved.as_ref()).unwrap();
        segments.iter_mut().for_each(|(segment, _)| segment.path = segment.path.file_name().unwrap().into());
        found.cut.iter_mut().for_each(|cut| cut.path = cut.path.file_name().unwrap().into());
        (segments, found)
    }

    #[test]
    fn records_that_were_read_are_not_read_again() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("journal");
        let (mut reader, mut journal) = (JournalReader::new(Arc::new(RealDisk), &dir), open(&dir, 1));
        let mut values: Option<Records> = None;
        for round in 1..60_u64 {
            commit(&mut journal, round % 4);
            if round % 13 == 12 {
                drop(journal);
                journal = open(&dir, 2 + round);
            }
            if round % 5 == 0 {
                match &mut values {
                    Some(values) => reader.read_on(values).unwrap(),
                    None => values = Some(reader.read_from(0).unwrap()),
                }
                values.iter_mut().flatten().for_each(|value| drop(value.unwrap()));
            }
            let torn = copied(&dir, home.path().join(format!("torn-{round}")));
            let last = Segment::list(&RealDisk, &torn).unwrap().pop().unwrap().path;
            let length = fs::metadata(&last).unwrap().len();
            if round % 2 == 0 {
                let bytes = [fs::read(&last).unwrap(), b"msjr and no more".to_vec()].concat();
                fs::write(&last, bytes).unwrap();
            } else if length > 20 && journal.durable() > reader.durable().unwrap() {
                // A commit of which nothing says that it was durable.
                fs::File::options().write(true).open(&last).unwrap().set_len(length - 20).unwrap();
            }
            let place = values.as_ref().and_then(Records::place);
            let again = copied(&torn, home.path().join(format!("again-{round}")));
            assert_eq!(recovered(&again, place.as_ref()), recovered(&torn, None), "round {round}");
        }
    }

    #[test]
    fn damage_after_the_place_is_looked_for_and_damage_before_it_is_not() {
        let home = tempfile::tempdir().unwrap();
        let dir = home.path().join("journal");
        let mut journal = open(&dir, 1);
        (0..40).for_each(|_| commit(&mut journal, 1));
        let mut reader = JournalReader::new(Arc::new(RealDisk), &dir);
        let mut values = reader.read_from(0).unwrap();
        values.by_ref().for_each(|value| drop(value.unwrap()));
        let place = values.place().unwrap();
        (0..40).for_each(|_| commit(&mut journal, 1));
        drop(journal);
        let segments = Segment::list(&RealDisk, &dir).unwrap();
        let damage = |at: usize| {
            let path = &segments[at].path;
            let mut bytes = fs::read(path).unwrap();
            bytes[20] ^= 1;
            fs::write(path, bytes).unwrap();
        };
        damage(0);
        assert!(recover(&RealDisk, &dir, &SMALL, 100, Some(&place)).is_ok());
        damage(segments.len() - 2);
        assert!(matches!(recover(&RealDisk, &dir, &SMALL, 100, Some(&place)), Err(JournalError::Corrupt { .. })));
    }
}
