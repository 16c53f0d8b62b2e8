//! Values by number, durable before any output for them leaves.
//!
//! The values of a live source cannot be read again, so they are written by number. A [`Journal`] collects values in a
//! group ([`append`](Journal::append)) and writes the group as one record with one checksum
//! ([`commit`](Journal::commit)). The record also says up to where the journal was durable before. This distinguishes a
//! crash from damage: a record that was never finished is cut off and reported, and a damaged record is refused, with
//! file and offset.
//!
//! # The files
//!
//! `FIRST-EPOCH.journal` is a segment: records, one after the other, from the number `FIRST` on, written by one
//! process. A process never writes to a segment that it has not made. When the last segment has [enough
//! bytes](JournalOptions::segment_bytes), it syncs that segment and makes a new one. `lock` is locked by the writer.

mod bounds;
mod error;
#[cfg(any(test, feature = "fuzzed"))]
pub(crate) mod fuzzed;
mod options;
mod packed;
mod reader;
mod record;
mod records;
mod recovery;
mod released;
mod segment;

pub(crate) use released::once_released;

use crate::disk::{self, Disk, DiskFile, DiskLock, OpenMode};
use bounds::LENGTH;
use record::{HEADER, Header, PACKED, PLAIN, Place};
use recovery::Segments;
use segment::Segment;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

pub use error::JournalError;
pub use options::{Fsync, JournalOptions};
pub use reader::{DurableMark, JournalReader};
pub(crate) use records::ReadTo;
pub use records::Records;
pub use recovery::{Recovered, TornTail};

/// The writer of a journal.
///
/// ```
/// use millstream::state::disk::RealDisk;
/// use millstream::state::journal::{Journal, JournalOptions};
/// use std::sync::Arc;
///
/// # let home = tempfile::tempdir()?;
/// # let path = home.path().join("journal");
/// let (mut journal, _) = Journal::open(Arc::new(RealDisk), &path, JournalOptions::default(), 1)?;
/// journal.append(0, b"zero")?;
/// journal.append(1, b"one")?;
/// assert_eq!(journal.commit()?, 2, "all below 2 are durable");
/// journal.append(2, b"two")?; // and never committed
/// drop(journal);
///
/// let (journal, recovered) = Journal::open(Arc::new(RealDisk), &path, JournalOptions::default(), 2)?;
/// assert_eq!(recovered.to_string(), "the journal has 2 values from 0, and 2 is next");
/// let values = journal.read_from(1)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(values, [(1, b"one".to_vec())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: JournalOptions,
    epoch: u64,
    _lock: Box<dyn DiskLock>,
    /// The file of the last segment, if this process has made one.
    file: Option<Box<dyn DiskFile>>,
    segments: Segments,
    /// The bytes of all segments.
    total: u64,
    /// The open group: room for a header, and its values.
    group: Vec<u8>,
    count: u32,
    /// A record that is compressed.
    packed: Vec<u8>,
    /// The numbers after the open group, after the last commit, and after the last synced value.
    next: u64,
    written: u64,
    synced: u64,
    /// The number below which all is durable, as the records and segments say.
    said: u64,
    mark: DurableMark,
    last_sync: Instant,
    /// Whether the last value has found no room. Then the last segment ends, so that it can be trimmed.
    full: bool,
    failed: Option<String>,
}

impl Journal {
    /// Opens the journal in a directory, or makes one, and reads all of it. It cuts off a record that was never
    /// finished, and makes the rest durable. `epoch` is that of this process, higher than those of earlier ones.
    ///
    /// # Errors
    ///
    /// If no value would fit into a journal of this size, it is damaged, has a later format, ends before
    /// [`at_least`](JournalOptions::at_least), was written by a process of a higher epoch, or is in use; or the system
    /// refuses. Only in the last case may it have changed the journal.
    pub fn open(
        disk: Arc<dyn Disk>,
        dir: impl Into<PathBuf>,
        options: JournalOptions,
        epoch: u64,
    ) -> Result<(Journal, Recovered), JournalError> {
        Journal::open_behind(disk, dir, options, epoch, None)
    }

    /// As [`open`](Journal::open), by a process that has read the journal up to this place: it looks only at the bytes
    /// after it.
    pub(crate) fn open_behind(
        disk: Arc<dyn Disk>,
        dir: impl Into<PathBuf>,
        options: JournalOptions,
        epoch: u64,
        read: Option<ReadTo>,
    ) -> Result<(Journal, Recovered), JournalError> {
        let dir = dir.into();
        options.check(&dir)?;
        disk::make_dirs(&*disk, &dir).map_err(JournalError::io("make", &dir))?;
        let lock = released::lock(&*disk, &dir)?;
        if Segment::list(&*disk, &dir)?.is_empty() {
            disk::sync_above(&*disk, &dir).map_err(JournalError::io("sync the directories above", &dir))?;
        }
        let (segments, recovered, said) = recovery::recover(&*disk, &dir, &options, epoch, read.as_ref())?;
        let next = recovered.next;
        let (group, mark, last_sync) = (vec![0; HEADER], DurableMark::default(), Instant::now());
        mark.raise(next);
        let journal = Journal {
            disk,
            dir,
            options,
            epoch,
            _lock: lock,
            file: None,
            total: segments.iter().map(|(_, bytes)| bytes).sum(),
            segments,
            group,
            count: 0,
            packed: Vec::new(),
            next,
            written: next,
            synced: next,
            said,
            mark,
            last_sync,
            full: false,
            failed: None,
        };
        Ok((journal, recovered))
    }

    /// Adds a value to the open group. `number` follows the last one; a new journal may begin with any number. Nothing
    /// is written until [`commit`](Journal::commit).
    ///
    /// # Errors
    ///
    /// If the number is another ([`Gap`](JournalError::Gap)), the journal or the group is full, the value has more
    /// than 1 GiB or than the journal may have, or an earlier commit has [poisoned](JournalError::Poisoned) the
    /// journal. The group is as it was.
    pub fn append(&mut self, number: u64, value: &[u8]) -> Result<(), JournalError> {
        self.add(number, value, self.options.max_bytes)
    }

    /// As [`append`](Journal::append), in a journal that may have this many bytes.
    pub(crate) fn add(&mut self, number: u64, value: &[u8], max_bytes: u64) -> Result<(), JournalError> {
        self.check()?;
        let begins = self.segments.is_empty() && self.count == 0;
        let Some(next) = number.checked_add(1).filter(|_| begins || number == self.next) else {
            return Err(JournalError::Gap { number, next: self.next });
        };
        let longest = bounds::longest(max_bytes);
        if value.len() > longest {
            return Err(JournalError::TooLong { bytes: value.len(), max: longest });
        }
        let bytes = self.group.len() + LENGTH + value.len();
        let total = self.total + bytes as u64;
        if total > max_bytes {
            self.full = true;
            return Err(JournalError::Full { path: self.dir.clone(), bytes: total, max: max_bytes });
        }
        let max = self.options.group();
        if self.count > 0 && bytes > max {
            return Err(JournalError::GroupFull { bytes, max });
        }
        if begins {
            (self.written, self.synced, self.said) = (number, number, number);
        }
        record::push(&mut self.group, value);
        (self.count, self.next, self.full) = (self.count + 1, next, false);
        Ok(())
    }

    /// Writes the open group as one record, syncs it as [`Fsync`] says, and returns the number below which all values
    /// are durable. With [`Fsync::Never`] it is the number below which all are written. An empty group writes nothing.
    ///
    /// # Errors
    ///
    /// If the disk is full, the group stays as it is, and this may be called again when there is room. If any other
    /// write or a sync fails, the journal is [poisoned](JournalError::Poisoned): this call and all later ones return
    /// that error, and values that were not durable before may be lost.
    pub fn commit(&mut self) -> Result<u64, JournalError> {
        self.check()?;
        if self.count > 0 {
            self.write(self.next)?;
        }
        let due = match self.options.fsync {
            Fsync::Every => true,
            Fsync::Interval(time) => self.last_sync.elapsed() >= time,
            Fsync::Never => return Ok(self.written),
        };
        if due { self.sync() } else { Ok(self.synced) }
    }

    /// Makes all commits durable, whatever the policy, and returns the number below which all values are. The open
    /// group is not written.
    ///
    /// # Errors
    ///
    /// If a sync fails, as [`commit`](Journal::commit).
    pub fn sync(&mut self) -> Result<u64, JournalError> {
        self.check()?;
        if let (true, Some(file)) = (self.synced < self.written, &mut self.file)
            && let Err(error) = file.sync()
        {
            let why = JournalError::io("sync", &self.last_path())(error);
            return Err(self.poison(&why));
        }
        (self.synced, self.last_sync) = (self.written, Instant::now());
        self.mark.raise(self.synced);
        Ok(self.synced)
    }

    /// Writes an empty record, unless the last record already says up to where the journal is durable; before the first
    /// commit, it begins a segment instead. A [`JournalReader`] in another process thus sees the last commit before
    /// there is a next one, also that of an earlier process. The record itself is not synced.
    ///
    /// # Errors
    ///
    /// As [`commit`](Journal::commit).
    pub fn mark(&mut self) -> Result<(), JournalError> {
        self.check()?;
        if self.said == self.synced {
            return Ok(());
        }
        if self.file.is_none() {
            // What an earlier process has written. The name of a segment says that all before it is durable.
            self.next_segment()?;
            self.said = self.synced;
            return Ok(());
        }
        let (values, count) = (self.group.split_off(HEADER), std::mem::take(&mut self.count));
        let written = self.write(self.written);
        self.group.extend(values);
        self.count = count;
        written
    }

    /// The number below which all values are durable.
    #[must_use]
    pub fn durable(&self) -> u64 {
        self.synced
    }

    /// The same number, for other threads, which wait for it before a value leaves the process.
    #[must_use]
    pub fn durable_mark(&self) -> DurableMark {
        self.mark.clone()
    }

    /// The number that the next value must have. A new journal takes any.
    #[must_use]
    pub fn next_number(&self) -> u64 {
        self.next
    }

    /// The first number that the journal still has.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.segments.front().map_or(self.written, |(segment, _)| segment.base)
    }

    /// The bytes of all segments.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.total
    }

    /// The committed values from a number on, durable or not. It needs the memory of one group.
    ///
    /// # Errors
    ///
    /// If the number was trimmed, and each item if its record cannot be read.
    pub fn read_from(&self, number: u64) -> Result<Records, JournalError> {
        let segments = self.segments.iter().map(|(segment, _)| segment.clone()).collect();
        Records::new(Arc::clone(&self.disk), segments, number..self.written, self.options.skip_corrupt)
    }

    /// Removes the segments whose values are all below a number; the last one only if the journal is full. Something
    /// else must make them unnecessary, durably: a snapshot at the number or after it.
    ///
    /// # Errors
    ///
    /// If the system refuses to remove a file; some may be removed then. A failed sync poisons the journal.
    pub fn trim_below(&mut self, number: u64) -> Result<(), JournalError> {
        self.check()?;
        if self.full && self.written <= number {
            // Without room on the disk for its name, the last one stays.
            self.end_segment().or_else(|error| if error.is_full() { Ok(()) } else { Err(error) })?;
        }
        while self.segments.get(1).is_some_and(|(next, _)| next.base <= number) {
            let path = &self.segments[0].0.path;
            self.disk.remove(path).map_err(JournalError::io("remove", path))?;
            self.total -= self.segments.pop_front().map_or(0, |(_, bytes)| bytes);
            // One by one: a later segment that is gone while an earlier one is there would look like damage.
            if let Err(error) = self.disk.sync_dir(&self.dir) {
                let why = JournalError::io("sync", &self.dir)(error);
                return Err(self.poison(&why));
            }
        }
        Ok(())
    }

    /// Writes the group, whose values end below a number, as a record, and empties it.
    fn write(&mut self, end: u64) -> Result<(), JournalError> {
        let enough = self.options.segment();
        // A segment without values has the name that the next one would have.
        let ends = |(segment, bytes): &(Segment, u64)| {
            (*bytes >= enough || self.full) && segment.base < self.written && self.count > 0
        };
        if self.file.is_none() || self.segments.back().is_none_or(ends) {
            self.next_segment()?;
        }
        let (Some(file), Some((segment, offset))) = (&mut self.file, self.segments.back_mut()) else { return Ok(()) };
        let packed = self.options.compress && packed::pack(&self.group[HEADER..], HEADER, &mut self.packed);
        let (record, format) = if packed { (&mut self.packed, PACKED) } else { (&mut self.group, PLAIN) };
        let (epoch, first, durable, count) = (self.epoch, self.written, self.synced, self.count);
        let header = Header { format, epoch, first, durable, count, length: (record.len() - HEADER) as u32 };
        header.write(record, Place { base: segment.base, offset: *offset });
        if let Err(error) = file.write_at(record, *offset) {
            let why = JournalError::io("write", &segment.path)(error);
            // Returns the room of a half-written record. If that fails, the next try writes over it.
            drop(file.set_len(*offset));
            return if why.is_full() { Err(why) } else { Err(self.poison(&why)) };
        }
        *offset += record.len() as u64;
        self.total += record.len() as u64;
        self.group.truncate(HEADER);
        self.group.shrink_to(self.options.group_bytes);
        self.packed.shrink_to(self.options.group_bytes);
        (self.count, self.written, self.said) = (0, end, self.synced);
        Ok(())
    }

    /// Begins a segment, unless the last one has no values.
    pub(crate) fn end_segment(&mut self) -> Result<(), JournalError> {
        let ends = self.segments.back().is_some_and(|(last, _)| last.base < self.written);
        if ends { self.next_segment() } else { Ok(()) }
    }

    /// Begins a segment, when the last one is durable.
    fn next_segment(&mut self) -> Result<(), JournalError> {
        self.sync()?;
        let segment = Segment::new(&self.dir, self.written, self.epoch);
        let made = self.disk.open(&segment.path, OpenMode::Create);
        self.file = Some(made.map_err(JournalError::io("create", &segment.path))?);
        // One of this name that is known is that of an earlier `open`, and has no values.
        let known = self.segments.pop_back_if(|(last, _)| *last == segment);
        self.total -= known.map_or(0, |(_, bytes)| bytes);
        self.segments.push_back((segment, 0));
        if let Err(error) = self.disk.sync_dir(&self.dir) {
            let why = JournalError::io("sync", &self.dir)(error);
            return Err(self.poison(&why));
        }
        Ok(())
    }

    fn last_path(&self) -> PathBuf {
        self.segments.back().map_or_else(|| self.dir.clone(), |(segment, _)| segment.path.clone())
    }

    fn check(&self) -> Result<(), JournalError> {
        self.failed.clone().map_or(Ok(()), |why| Err(JournalError::Poisoned { why }))
    }

    fn poison(&mut self, error: &JournalError) -> JournalError {
        let why = error.to_string();
        self.failed = Some(why.clone());
        JournalError::Poisoned { why }
    }
}
