//! The files of a program, as a source that can begin in the middle.

use super::super::sources::Named;
use super::again::{Before, file_from};
use crate::input::{Counted, message};
use crate::message::{Complaints, quoted};
use millstream_core::text::Block;
use millstream_io::Failure;
use millstream_mill::{FileBlocks, FilePlace, Raw, RowBlocks, SourceOf};
use millstream_state::resumable::JournalPlace;
use millstream_state::{FollowedFile, Places, Position, Resumable};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io::{self, Error, ErrorKind, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};

/// How sources are read.
pub(super) struct Reading {
    /// The longest row.
    pub(super) most: usize,
    /// Whether a read of the journal's input, or of a URL, may wait.
    pub(super) waits: bool,
    pub(super) quiet: bool,
    /// Whether this is a run, and not only a look.
    pub(super) live: bool,
    /// The error that ends standard input.
    pub(super) failure: Option<Failure>,
}

/// The files to read.
pub(super) struct Files {
    reading: Reading,
    /// The number of the source, and the name of the file.
    files: Vec<(usize, SourceOf, OsString)>,
    /// The file that is followed; at most one, since nothing after it would be read.
    followed: Option<FollowedFile>,
    stopped: Arc<AtomicBool>,
    failure: Mutex<Option<Error>>,
    /// Why nothing can be read.
    cannot_begin: Option<String>,
    /// Dropped together with the blocks.
    until_dropped: Mutex<Option<SyncSender<()>>>,
    complaints: Complaints,
}

impl Reading {
    pub(super) fn of(self, named: Vec<Named>, complaints: &Complaints) -> Files {
        let files = |Named { number, of, files }: Named| {
            // Posted rows have the address in the text as their name, the same in every process.
            let address = of.listen.clone().map(OsString::from);
            files.into_iter().chain(address).map(move |file| (number, of.clone(), file))
        };
        let files: Vec<_> = named.into_iter().flat_map(files).collect();
        let followed = files.iter().find(|(_, of, _)| of.follow).map(|(.., name)| FollowedFile::new(name));
        if let (Some(followed), false) = (&followed, self.live) {
            // A look reads a followed file only to its present end.
            followed.stopper().stop();
        }
        Files {
            reading: self,
            files,
            followed,
            stopped: Arc::default(),
            failure: Mutex::default(),
            cannot_begin: None,
            until_dropped: Mutex::default(),
            complaints: complaints.clone(),
        }
    }
}

impl Files {
    /// A function for a signal to call instead of draining the run, if a file is followed. The rest of the file is
    /// still read.
    pub(super) fn stopper(&self) -> Option<impl Fn() + Send + 'static> {
        let (stopped, follows) = (self.stopped.clone(), self.followed.as_ref()?.stopper());
        Some(move || {
            stopped.store(true, Ordering::Relaxed);
            follows.stop();
        })
    }

    /// Makes the beginning fail with this message.
    pub(super) fn cannot_begin(&mut self, why: String) {
        self.cannot_begin = Some(why);
    }

    /// Drops this sender once nothing is read any more.
    pub(super) fn until_dropped(&mut self, guard: SyncSender<()>) {
        self.until_dropped = Mutex::new(Some(guard));
    }

    /// Whether the file with this place is the source that listens.
    #[cfg(feature = "serve")]
    pub(super) fn listens(&self, file: usize) -> bool {
        self.files.get(file).is_some_and(|(_, of, _)| of.listen.is_some())
    }

    /// The name of a file in stored positions.
    fn name(&self, file: usize) -> Option<String> {
        self.files.get(file).map(|(.., name)| name.to_string_lossy().into_owned())
    }
}

/// The blocks of all files, one file after the other. Input that comes only once comes through a journal.
pub(super) struct KeptSources<J>(Arc<Inner<J>>);

struct Inner<J> {
    of: Files,
    journal: Option<J>,
}

impl<J> KeptSources<J> {
    pub(super) fn new(of: Files, journal: Option<J>) -> Self {
        KeptSources(Arc::new(Inner { of, journal }))
    }
}

/// A place in the sources.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    file: usize,
    at: FilePlace,
    /// The bytes of the file that this process has passed on.
    passed: u64,
    before: Before,
    journal: JournalPlace,
}

/// A place, as it is stored.
#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    file: usize,
    path: String,
    at: FilePlace,
    before: Before,
    journal: Option<Position>,
    followed: Option<Position>,
}

impl<J: Resumable<Block, Mark = JournalPlace>> KeptSources<J> {
    /// The blocks from a position on, up to another one.
    fn begin_until(&self, position: Option<&Position>, until: Option<Stored>) -> io::Result<KeptBlocks<J>> {
        *self.0.of.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Some(why) = &self.0.of.cannot_begin {
            return Err(Error::other(why.clone()));
        }
        let (from, place, places) = (self.0.clone(), Place::default(), Arc::default());
        let until_dropped = self.0.of.until_dropped.lock().unwrap_or_else(PoisonError::into_inner).take();
        let current = None;
        let mut blocks =
            KeptBlocks { current, from, place, places, until, ended: false, _until_dropped: until_dropped };
        let Some(position) = position else { return Ok(blocks) };
        let stored = Stored::deserialize(position)?;
        if self.0.of.name(stored.file).as_ref() != Some(&stored.path) {
            let (n, was) = (stored.file + 1, quoted(stored.path.as_ref()));
            let why = format!("file {n} was {was} when the snapshot was taken: name the same files in the same order");
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        blocks.place = Place { file: stored.file, at: stored.at.clone(), before: stored.before, ..Place::default() };
        blocks.open(Some(&stored))?;
        Ok(blocks)
    }
}

impl<J: Resumable<Block, Mark = JournalPlace>> Resumable<Raw> for KeptSources<J> {
    type Mark = Place;
    type Values = KeptBlocks<J>;
    const WAITS: bool = true;

    fn waits(&self) -> bool {
        self.0.of.reading.waits || self.0.of.followed.is_some()
    }

    /// The last block of a file ends where the file ends, and the file may have grown. A block of a followed file ends
    /// where the file ended when it was read.
    fn repeats(&self) -> bool {
        false
    }

    /// Blocks of other files are cut by the bytes alone.
    fn recounts(&self) -> bool {
        self.0.of.followed.is_none()
    }

    fn is_at(&self, mark: &Place, position: &Position) -> Option<bool> {
        let Stored { file, at, .. } = Stored::deserialize(position).ok()?;
        Some(mark.file == file && mark.at == at)
    }

    fn between(&self, from: Option<&Position>, to: &Position) -> io::Result<KeptBlocks<J>> {
        self.begin_until(from, Some(Stored::deserialize(to)?))
    }

    fn begin(&self, position: Option<&Position>) -> io::Result<KeptBlocks<J>> {
        self.begin_until(position, None)
    }

    fn position(&self, mark: &Place) -> io::Result<Position> {
        let Inner { of, journal } = &*self.0;
        let Place { file, at, passed, before, journal: in_journal } = mark;
        let followed = of.followed.as_ref().filter(|_| of.files[*file].1.follow);
        let stored = Stored {
            file: *file,
            path: of.name(*file).unwrap_or_default(),
            at: at.clone(),
            before: *before,
            journal: journal.as_ref().map(|journal| journal.position(in_journal)).transpose()?,
            followed: followed.map(|followed| followed.position(passed)).transpose()?,
        };
        Ok(serde_json::to_value(stored)?)
    }

    fn has_passed(&self, mark: &Place, further: u64) -> bool {
        let (_, of, name) = &self.0.of.files[mark.file];
        // At another file, nothing is recorded yet.
        let journal = self.0.journal.as_ref().filter(|_| comes_once(of, name));
        further == 0 && journal.is_none_or(|journal| journal.has_passed(&mark.journal, 0))
    }

    fn forget(&self, oldest: &Position) {
        if let (Some(journal), false) = (&self.0.journal, oldest["journal"].is_null()) {
            journal.forget(&oldest["journal"]);
        }
    }

    fn failure(&self) -> Option<Error> {
        self.0.of.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// The blocks of a [`KeptSources`].
pub(super) struct KeptBlocks<J> {
    current: Option<FileBlocks>,
    from: Arc<Inner<J>>,
    place: Place,
    /// For each block that was read from the journal but not passed on yet, the place after it.
    places: Arc<Mutex<VecDeque<JournalPlace>>>,
    /// Where they end, if not at the end of the files.
    until: Option<Stored>,
    ended: bool,
    /// Dropped after the blocks.
    _until_dropped: Option<SyncSender<()>>,
}

impl<J: Resumable<Block, Mark = JournalPlace>> KeptBlocks<J> {
    /// Opens the file of the place, at the place.
    fn open(&mut self, stored: Option<&Stored>) -> io::Result<()> {
        let Inner { of: Files { reading, files, followed, .. }, journal } = &*self.from;
        let (number, of, name) = &files[self.place.file];
        let at = &self.place.at;
        let until = self.until.as_ref().filter(|until| until.file == self.place.file);
        let blocks = match (journal, followed) {
            (Some(journal), _) if comes_once(of, name) => {
                let values = journal.begin(stored.and_then(|stored| stored.journal.as_ref()))?;
                self.place.journal = values.place();
                self.places = Arc::default();
                let values = WithPlaces { values, places: self.places.clone() };
                RowBlocks::of(values, reading.failure.clone().unwrap_or_default())
            }
            (_, Some(followed)) if of.follow => {
                let from = stored.and_then(|stored| stored.followed.as_ref());
                let bytes = match until {
                    None => followed.bytes(from)?,
                    Some(Stored { at: end, followed: to, .. }) => {
                        let total = end.offset.checked_sub(at.offset).ok_or_else(out_of_order)?;
                        followed.bytes_between(from, to.as_ref().unwrap_or(&Position::Null), Some(total))?
                    }
                };
                of.blocks(Counted(bytes), reading.most)
            }
            _ => {
                let mut read = opened(of, name, at, self.place.before).map_err(|error| named(name, &error))?;
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
        let kept = &mut *self.from.of.failure.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get_or_insert(error);
        (self.ended, self.current) = (true, None);
        None
    }

    /// Why the file has ended early, if it has.
    fn failure(&self) -> Option<Error> {
        let (_, of, name) = &self.from.of.files[self.place.file];
        let of_journal = || self.from.journal.as_ref().filter(|_| comes_once(of, name))?.failure();
        let failure = self.current.as_ref().and_then(FileBlocks::failure);
        failure.map(|error| named(name, &error)).or_else(of_journal)
    }
}

/// The rows of a file, from a place on.
fn opened(of: &SourceOf, name: &OsStr, at: &FilePlace, before: Before) -> io::Result<Box<dyn Read + Send>> {
    #[cfg(feature = "sqlite")]
    if let Some(query) = &of.query {
        use super::super::sqlite::{Answers, same_again};
        return super::again::read_again(Box::new(Answers::to(query, name)?), at, before).map_err(same_again);
    }
    let _ = of;
    file_from(name, at, before)
}

fn out_of_order() -> Error {
    Error::new(ErrorKind::InvalidData, "a later snapshot is at an earlier place")
}

/// Whether the input comes only once, and therefore through the journal.
fn comes_once(of: &SourceOf, name: &OsStr) -> bool {
    name == "-" || of.listen.is_some()
}

fn named(name: &OsStr, error: &Error) -> Error {
    let name = if name == "-" { "standard input".as_ref() } else { name };
    Error::new(error.kind(), message(name, error))
}

impl<J: Resumable<Block, Mark = JournalPlace>> Iterator for KeptBlocks<J> {
    type Item = Raw;

    fn next(&mut self) -> Option<Raw> {
        while !self.ended {
            let of = &self.from.of;
            if let Some(blocks) = &mut self.current {
                let next = blocks.next();
                if let Some(columns) = blocks.sampled().filter(|_| !of.reading.quiet) {
                    let (.., name) = &of.files[self.place.file];
                    of.complaints.note(&format!("{}: schema: {columns}", quoted(name)));
                }
                if let Some(raw) = next {
                    self.place.at = blocks.place();
                    self.place.passed += raw.block.len() as u64;
                    self.place.before = Before::of(&raw.block);
                    let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
                    self.place.journal = places.pop_front().unwrap_or(self.place.journal);
                    return Some(raw);
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
                    return self.fail(named(name, &Error::new(ErrorKind::InvalidData, why)));
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
}

/// The blocks of a journal, each with the place after it.
struct WithPlaces<V> {
    values: V,
    places: Arc<Mutex<VecDeque<JournalPlace>>>,
}

impl<V: Places<Item = Block, Mark = JournalPlace>> Iterator for WithPlaces<V> {
    type Item = Block;

    fn next(&mut self) -> Option<Block> {
        let block = self.values.next()?;
        self.places.lock().unwrap_or_else(PoisonError::into_inner).push_back(self.values.place());
        Some(block)
    }
}
