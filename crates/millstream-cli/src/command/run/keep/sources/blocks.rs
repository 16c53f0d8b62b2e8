//! The blocks of a program's files, from a place on.

use super::{Files, Inner, Place, Stored, comes_once, named};
use crate::command::run::keep::again::{self, Before};
use crate::input::{Counted, Opening};
use crate::interrupts::is_end;
use crate::message::quoted;
use millstream_core::text::Block;
use millstream_mill::{FileBlocks, FilePlace, Raw, RowBlocks, SourceOf};
use millstream_state::resumable::{FollowedBytes, JournalPlace};
use millstream_state::{Places, Position, Resumable};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::io::{self, Error, ErrorKind, Read};
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

/// The blocks of a [`KeptSources`].
pub(in super::super) struct KeptBlocks<J> {
    pub(super) current: Option<FileBlocks>,
    pub(super) from: Arc<Inner<J>>,
    pub(super) place: Place,
    /// Whether the last block ended with the end of a row. What comes only once cannot grow.
    pub(super) is_whole: bool,
    /// For each block that was read from the journal but not passed on yet, where it ends in the input, and the place
    /// after it.
    pub(super) places: Arc<Mutex<VecDeque<(u64, JournalPlace)>>>,
    /// Where they end, if not at the end of the files.
    pub(super) until: Option<Stored>,
    /// The bytes of the followed file, before its turn comes.
    pub(super) ahead: Option<FollowedBytes>,
    pub(super) ended: bool,
    /// Dropped after the blocks.
    pub(super) _until_dropped: Option<SyncSender<()>>,
}

impl<J: Resumable<Block, Mark = JournalPlace>> KeptBlocks<J> {
    /// Opens the file of the place, at the place.
    pub(super) fn open(&mut self, stored: Option<&Stored>) -> io::Result<()> {
        let Inner { of: Files { reading, files, followed, to_come, .. }, journal } = &*self.from;
        let (number, of, name) = &files[self.place.file];
        let at = &self.place.at;
        let until = self.until.as_ref().filter(|until| until.file == self.place.file);
        let blocks = match (journal, followed) {
            (Some(journal), _) if comes_once(of, name) => {
                let values = journal.begin(stored.and_then(|stored| stored.journal.as_ref()))?;
                self.place.journal = values.place();
                self.places = Arc::default();
                let values = WithPlaces { values, end: at.offset, places: self.places.clone() };
                RowBlocks::of(values, reading.failure.clone().unwrap_or_default())
            }
            (_, Some(followed)) if of.follow => {
                let noted = to_come.lock().unwrap_or_else(PoisonError::into_inner);
                let from = stored.map_or(noted.as_ref(), |stored| stored.followed.as_ref());
                let bytes = match (until, self.ahead.take()) {
                    (None, Some(ahead)) => ahead,
                    (None, None) => followed.bytes(from)?,
                    (Some(Stored { at: end, followed: to, .. }), _) => {
                        let total = end.offset.checked_sub(at.offset).ok_or_else(out_of_order)?;
                        followed.bytes_between(from, to.as_ref().unwrap_or(&Position::Null), Some(total))?
                    }
                };
                of.blocks(Counted(bytes), reading.most)
            }
            _ => {
                let opened = opened(of, name, at, self.place.before, &reading.opening);
                let mut read = opened.map_err(|error| named(name, error))?;
                if let Some(until) = until {
                    let total = until.at.offset.checked_sub(at.offset).ok_or_else(out_of_order)?;
                    read = Box::new(read.take(total));
                }
                of.even_blocks(read, reading.most, at)
            }
        };
        self.current = Some(FileBlocks::from_place(of, *number, &name.to_string_lossy(), blocks, at.clone()));
        Ok(())
    }

    fn fail(&mut self, error: Error) -> Option<Raw> {
        // That a signal has ended a wait is no failure.
        if !is_end(&error) {
            let kept = &mut *self.from.of.failure.lock().unwrap_or_else(PoisonError::into_inner);
            kept.get_or_insert(error);
        }
        (self.ended, self.current) = (true, None);
        None
    }

    /// Why the file has ended early, if it has.
    fn failure(&self) -> Option<Error> {
        let (_, of, name) = &self.from.of.files[self.place.file];
        let of_journal = || self.from.journal.as_ref().filter(|_| comes_once(of, name))?.failure();
        let failure = self.current.as_ref().and_then(FileBlocks::failure);
        failure.map(|error| named(name, error)).or_else(of_journal)
    }
}

impl<J: Resumable<Block, Mark = JournalPlace>> Iterator for KeptBlocks<J> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        // The next start reads on there.
        while !self.ended && !self.from.of.ends_before(self.place.file) {
            let of = &self.from.of;
            if let Some(blocks) = &mut self.current {
                let next = blocks.next();
                if let Some(columns) = blocks.sampled().filter(|_| !of.reading.quiet) {
                    let (.., name) = &of.files[self.place.file];
                    of.complaints.note(&format!("{}: schema: {columns}", quoted(name)));
                }
                if let Some(raw) = next {
                    // Blocks of empty lines before a header are left out.
                    let at = blocks.place();
                    self.place.passed += at.offset - self.place.at.offset;
                    self.place.at = at;
                    self.place.before = Before::of(&raw.block);
                    let (_, source, name) = &of.files[self.place.file];
                    let is_ended = raw.block.ends_with(b"\n") && !source.is_open(&raw.block[raw.skip..]);
                    self.is_whole = is_ended || comes_once(source, name);
                    let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
                    while let Some((_, place)) = places.pop_front_if(|(end, _)| *end <= self.place.at.offset) {
                        self.place.journal = place;
                    }
                    return Some(raw);
                }
                // The error that ends a wait is none.
                if self.from.of.ends_before(self.place.file) {
                    return None;
                }
                if let Some(error) = self.failure() {
                    return self.fail(error);
                }
                if let Some(until) = self.until.as_ref().filter(|until| until.file == self.place.file) {
                    if self.place.at == until.at {
                        return None;
                    }
                    let (.., name) = &self.from.of.files[self.place.file];
                    let why = "the rows between the two snapshots cannot be read again as they were then";
                    return self.fail(named(name, Error::new(ErrorKind::InvalidData, why)));
                }
                // The end of the last file is a place in that file: reading goes on there when it has grown.
                if self.place.file + 1 >= self.from.of.files.len() {
                    return None;
                }
                self.current = None;
                self.place = Place { file: self.place.file + 1, journal: self.place.journal, ..Place::default() };
            }
            if self.from.of.stopped.load(Ordering::Relaxed) {
                return None;
            }
            if let Err(error) = self.open(None) {
                return self.fail(error);
            }
        }
        None
    }
}

impl<J: Resumable<Block, Mark = JournalPlace>> Places for KeptBlocks<J> {
    type Mark = Place;

    fn place(&self) -> Place {
        self.place.clone()
    }

    fn is_whole(&self) -> bool {
        self.is_whole
    }
}

/// The blocks of a journal, each with the place after it.
struct WithPlaces<V> {
    values: V,
    /// Where the last one ends in the input.
    end: u64,
    places: Arc<Mutex<VecDeque<(u64, JournalPlace)>>>,
}

impl<V: Places<Item = Block, Mark = JournalPlace>> Iterator for WithPlaces<V> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let block = self.values.next()?;
        self.end += block.len() as u64;
        let place = (self.end, self.values.place());
        self.places.lock().unwrap_or_else(PoisonError::into_inner).push_back(place);
        Some(block)
    }
}

/// The rows of a file, from a place on.
fn opened(
    of: &SourceOf,
    name: &OsStr,
    at: &FilePlace,
    before: Before,
    opening: &Opening,
) -> io::Result<Box<dyn Read + Send>> {
    #[cfg(feature = "sqlite")]
    if let Some(query) = &of.query {
        use crate::command::run::sqlite::{Answers, same_again};
        return again::read_again(opening.aside(Answers::to(query, name)?)?, at, before).map_err(same_again);
    }
    let _ = of;
    again::file_from(name, at, before, opening)
}

fn out_of_order() -> Error {
    Error::new(ErrorKind::InvalidData, "a later snapshot is at an earlier place")
}
