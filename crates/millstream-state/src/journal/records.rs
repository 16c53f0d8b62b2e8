//! Reading values by number.

use super::JournalError;
use super::record::split_value;
use super::segment::{Scan, Segment};
use crate::disk::Disk;
use std::collections::VecDeque;
use std::sync::Arc;

/// The values of a journal from a number on, in order, each with its number. It needs the memory of one group.
///
/// It ends before the first number that may not be read yet, or after an error.
#[derive(Debug)]
pub struct Records {
    disk: Arc<dyn Disk>,
    /// The segments after the one that is read.
    segments: VecDeque<Segment>,
    scan: Option<Scan>,
    /// The number of the next value, how many are left in the record, and where it begins in the payload.
    next: u64,
    left: u32,
    at: usize,
    /// The next number to yield, and the one to end before.
    from: u64,
    to: u64,
    skip: bool,
}

/// A place in a journal: everything before it was read, and is durable.
#[derive(Clone, Debug)]
pub(crate) struct ReadTo {
    pub(super) segment: Segment,
    /// Where the next record begins in the segment, and its first number.
    pub(super) offset: u64,
    pub(super) next: u64,
}

impl Records {
    /// The values of these segments, which are in the order of their numbers.
    pub(super) fn new(
        disk: Arc<dyn Disk>,
        mut segments: VecDeque<Segment>,
        numbers: std::ops::Range<u64>,
        skip: bool,
    ) -> Result<Self, JournalError> {
        let (from, to) = (numbers.start, numbers.end);
        let first = segments.front().map_or(from, |segment| segment.base);
        if from < first {
            return Err(JournalError::Trimmed { number: from, first });
        }
        let begins = segments.partition_point(|segment| segment.base <= from);
        segments.drain(..begins.saturating_sub(1));
        Ok(Records { disk, segments, scan: None, next: 0, left: 0, at: 0, from, to, skip })
    }

    /// Goes on, up to a later number: these are the segments now. What was not read is still there.
    pub(super) fn go_on(&mut self, mut segments: VecDeque<Segment>, to: u64) -> Result<(), JournalError> {
        let first = segments.front().map_or(self.from, |segment| segment.base);
        if self.from < first {
            return Err(JournalError::Trimmed { number: self.from, first });
        }
        match &mut self.scan {
            Some(scan) => {
                scan.measure()?;
                let here = (scan.segment.base, scan.segment.epoch);
                segments.retain(|segment| (segment.base, segment.epoch) > here);
            }
            None => {
                let begins = segments.partition_point(|segment| segment.base <= self.from);
                segments.drain(..begins.saturating_sub(1));
            }
        }
        (self.segments, self.to) = (segments, to.max(self.from));
        Ok(())
    }

    /// The next number that it would yield.
    pub(crate) fn next_number(&self) -> u64 {
        self.from
    }

    /// The place up to which it was read, if that is the end of a record.
    pub(crate) fn place(&self) -> Option<ReadTo> {
        let scan = self.scan.as_ref().filter(|_| self.left == 0)?;
        Some(ReadTo { segment: scan.segment.clone(), offset: scan.offset, next: self.next })
    }

    fn step(&mut self) -> Result<Option<(u64, Vec<u8>)>, JournalError> {
        while self.from < self.to {
            if self.left > 0 {
                let number = self.next;
                let value = self.value();
                if number >= self.from {
                    self.from = number + 1;
                    return Ok(value.map(|value| (number, value)));
                }
            } else if !self.next_record()? {
                return Ok(None);
            }
        }
        Ok(None)
    }

    /// Takes the next value of the record.
    fn value(&mut self) -> Option<Vec<u8>> {
        let payload = self.scan.as_ref().map_or(&[][..], |scan| &scan.payload[self.at..]);
        let (value, rest) = split_value(payload)?;
        self.at += payload.len() - rest.len();
        (self.next, self.left) = (self.next + 1, self.left - 1);
        Some(value.to_vec())
    }

    /// Goes to the next record; `false` if there is none.
    fn next_record(&mut self) -> Result<bool, JournalError> {
        let until = self.segments.front().map(|segment| segment.base);
        let Some(scan) = self.scan.as_mut().filter(|_| until.is_none_or(|until| self.next < until)) else {
            return self.next_segment();
        };
        let offset = scan.offset;
        match scan.next()? {
            Some(header) if header.first == self.next || self.skip && header.first > self.next => {
                (self.next, self.left, self.at) = (header.first, header.count, 0);
            }
            None if self.skip => match (scan.find_behind(offset)?, until) {
                // A process that was taken for dead may have written past the beginning of the next segment: such a
                // record does not count.
                (Some((at, header)), until) if until.is_none_or(|until| header.first < until) => scan.offset = at,
                (_, Some(until)) => self.next = until,
                _ => return Ok(false),
            },
            _ => return self.corrupt(offset),
        }
        Ok(true)
    }

    fn next_segment(&mut self) -> Result<bool, JournalError> {
        let Some(segment) = self.segments.pop_front() else { return Ok(false) };
        let base = segment.base;
        // The first one begins where it does, and each other one where the one before it ends.
        let expected = if self.scan.is_some() { self.next } else { base };
        self.scan = Some(Scan::open(&*self.disk, segment)?);
        self.next = base;
        if expected == base || self.skip { Ok(true) } else { self.corrupt(0) }
    }

    fn corrupt(&self, offset: u64) -> Result<bool, JournalError> {
        let path = self.scan.as_ref().map(|scan| scan.segment.path.clone()).unwrap_or_default();
        Err(JournalError::corrupt(&path, offset, format!("number {} is not complete there", self.next)))
    }
}

impl Iterator for Records {
    type Item = Result<(u64, Vec<u8>), JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step().transpose();
        if matches!(step, Some(Err(_)) | None) {
            self.to = self.from;
        }
        step
    }
}
