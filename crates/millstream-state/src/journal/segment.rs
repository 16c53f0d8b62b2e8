//! The files of a journal, and the records in one.

use super::JournalError;
use super::packed;
use super::record::{self, FORMAT, HEADER, Header, PACKED, PLAIN, Place};
use crate::disk::{Disk, DiskFile, OpenMode, read_exact};
use std::path::{Path, PathBuf};

/// The bytes that are read at once in the search for a record.
const CHUNK: usize = 64 << 10;

/// A file of the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    /// The number of its first value.
    pub(super) base: u64,
    /// The epoch of the process that made it. No other process writes to it.
    pub(super) epoch: u64,
}

impl Segment {
    pub(super) fn new(dir: &Path, base: u64, epoch: u64) -> Self {
        Segment { path: dir.join(format!("{base:020}-{epoch}.journal")), base, epoch }
    }

    fn named(dir: &Path, name: &str) -> Option<Self> {
        let (base, epoch) = name.strip_suffix(".journal")?.split_once('-')?;
        let segment = Segment::new(dir, base.parse().ok()?, epoch.parse().ok()?);
        segment.path.ends_with(name).then_some(segment)
    }

    /// The segments in a directory, in the order of their numbers.
    pub(super) fn list(disk: &dyn Disk, dir: &Path) -> Result<Vec<Segment>, JournalError> {
        let names = disk.list(dir).map_err(JournalError::io("list", dir))?;
        let mut segments: Vec<Segment> = names.iter().filter_map(|name| Segment::named(dir, name)).collect();
        segments.sort_by_key(|segment| (segment.base, segment.epoch));
        Ok(segments)
    }
}

/// Reads the records of a segment, one at a time.
#[derive(Debug)]
pub(super) struct Scan {
    pub(super) segment: Segment,
    file: Box<dyn DiskFile>,
    /// Where the next record begins.
    pub(super) offset: u64,
    /// Where the file ended when it was opened or last measured.
    pub(super) length: u64,
    /// The payload of the last record.
    pub(super) payload: Vec<u8>,
    /// The bytes of a compressed payload.
    packed: Vec<u8>,
}

impl Scan {
    pub(super) fn open(disk: &dyn Disk, segment: Segment) -> Result<Self, JournalError> {
        let file = disk.open(&segment.path, OpenMode::Read).map_err(JournalError::io("open", &segment.path))?;
        let length = file.length().map_err(JournalError::io("measure", &segment.path))?;
        Ok(Scan { segment, file, offset: 0, length, payload: Vec::new(), packed: Vec::new() })
    }

    /// Looks at the length again, as another process may have written.
    pub(super) fn measure(&mut self) -> Result<(), JournalError> {
        self.length = self.file.length().map_err(JournalError::io("measure", &self.segment.path))?;
        Ok(())
    }

    /// The record at the offset, if a whole one is there. The offset then moves past it.
    pub(super) fn next(&mut self) -> Result<Option<Header>, JournalError> {
        let header = self.at(self.offset)?;
        if let Some(header) = &header {
            self.offset += header.record_length();
        }
        Ok(header)
    }

    /// The record at an offset, if a whole one is there. Its values are in the payload.
    fn at(&mut self, offset: u64) -> Result<Option<Header>, JournalError> {
        let (mut bytes, room) = ([0; HEADER], self.length.saturating_sub(offset));
        if room < HEADER as u64 {
            return Ok(None);
        }
        let refused = || JournalError::io("read", &self.segment.path);
        read_exact(&mut *self.file, &mut bytes, offset).map_err(refused())?;
        let Some(header) = Header::parse(&bytes).filter(|header| header.record_length() <= room) else {
            return Ok(None);
        };
        self.payload.resize(header.length as usize, 0);
        read_exact(&mut *self.file, &mut self.payload, offset + HEADER as u64).map_err(refused())?;
        let place = Place { base: self.segment.base, offset };
        if !record::is_whole(place, &bytes, &self.payload) {
            return Ok(None);
        }
        if ![0, PLAIN, PACKED].contains(&header.format) {
            let (path, format) = (self.segment.path.clone(), header.format);
            return Err(JournalError::LaterFormat { path, offset, format, known: FORMAT });
        }
        let (theirs, ours) = (header.epoch, self.segment.epoch);
        if theirs != ours {
            let why = format!("the record has epoch {theirs}, and its file's name has epoch {ours}");
            return Err(JournalError::corrupt(&self.segment.path, offset, why));
        }
        if header.format == PACKED {
            std::mem::swap(&mut self.payload, &mut self.packed);
            if !packed::unpack(&self.packed, &mut self.payload) {
                return Ok(None);
            }
        }
        Ok(Some(header).filter(|header| header.format > 0 && record::has_values(&self.payload, header.count)))
    }

    /// The first whole record after an offset, and where it begins.
    pub(super) fn find_behind(&mut self, offset: u64) -> Result<Option<(u64, Header)>, JournalError> {
        let mut begin = offset + 1;
        let mut chunk = Vec::new();
        while begin + HEADER as u64 <= self.length {
            chunk.resize(CHUNK.min((self.length - begin) as usize), 0);
            read_exact(&mut *self.file, &mut chunk, begin).map_err(JournalError::io("read", &self.segment.path))?;
            let mut from = 0;
            while let Some(at) = record::find_magic(&chunk[from..]) {
                let found = begin + (from + at) as u64;
                if let Some(header) = self.at(found)? {
                    return Ok(Some((found, header)));
                }
                from += at + 1;
            }
            // The next header may begin in the last bytes of this chunk.
            begin += (chunk.len() - 3) as u64;
        }
        Ok(None)
    }
}
