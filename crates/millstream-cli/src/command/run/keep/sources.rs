//! The files of a program, as a source that can begin in the middle.

mod blocks;

use super::super::sources::Named;
use super::again::{Before, check};
use crate::input::{Opening, message};
use crate::interrupts::is_end;
use crate::message::{Complaints, quoted};
use blocks::KeptBlocks;
use millstream_core::text::Block;
use millstream_io::Failure;
use millstream_mill::{FilePlace, Raw, SourceOf};
use millstream_state::resumable::{FollowedBytes, JournalPlace};
use millstream_state::{FollowedFile, Position, Resumable};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::io::{self, Error, ErrorKind};
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
    /// How a URL is opened.
    pub(super) opening: Opening,
}

/// The files to read.
pub(super) struct Files {
    reading: Reading,
    /// The number of the source, and the name of the file.
    files: Vec<(usize, SourceOf, OsString)>,
    /// The file that is followed; at most one, since nothing after it would be read.
    followed: Option<FollowedFile>,
    /// Where the followed file begins, while a file before it is read.
    to_come: Mutex<Option<Position>>,
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
            to_come: Mutex::default(),
            stopped: Arc::default(),
            failure: Mutex::default(),
            cannot_begin: None,
            until_dropped: Mutex::default(),
            complaints: complaints.clone(),
        }
    }
}

impl Files {
    /// A function for a signal to call instead of draining the run, if its last source has no end. The rest of a
    /// followed file is still read; what comes before that is left for the next start.
    pub(super) fn stopper(&self) -> impl Fn() + Send + 'static {
        let (stopped, follows) = (self.stopped.clone(), self.followed.as_ref().map(FollowedFile::stopper));
        move || {
            stopped.store(true, Ordering::Relaxed);
            follows.iter().for_each(|follows| follows.stop());
        }
    }

    /// Whether a signal has ended what is before the last source, and this file is there.
    fn ends_before(&self, file: usize) -> bool {
        let is_before = |(_, of, _): &(usize, SourceOf, OsString)| !of.follow && of.listen.is_none();
        self.stopped.load(Ordering::Relaxed) && self.files.get(file).is_some_and(is_before)
    }

    /// Makes the beginning fail with this message.
    pub(super) fn cannot_begin(&mut self, why: String) {
        self.cannot_begin = Some(why);
    }

    /// The followed file, if the file of this place comes before it.
    fn followed_after(&self, file: usize) -> Option<&FollowedFile> {
        self.followed.as_ref().filter(|_| self.files.get(file).is_some_and(|(_, of, _)| !of.follow))
    }

    fn can_read(&self) -> io::Result<()> {
        self.cannot_begin.as_ref().map_or(Ok(()), |why| Err(Error::other(why.clone())))
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
    /// The place in the followed file: its beginning, in a file before it.
    followed: Option<Position>,
}

impl<J: Resumable<Block, Mark = JournalPlace>> KeptSources<J> {
    /// A stored position, if it is one in these files.
    fn stored(&self, position: &Position) -> io::Result<Stored> {
        let stored = Stored::deserialize(position)?;
        if self.0.of.name(stored.file).as_ref() != Some(&stored.path) {
            let (n, was) = (stored.file + 1, quoted(stored.path.as_ref()));
            let why = format!("file {n} was {was} when the snapshot was taken: name the same files in the same order");
            return Err(Error::new(ErrorKind::InvalidInput, why));
        }
        Ok(stored)
    }

    /// The blocks from a position on, up to another one.
    fn begin_until(&self, position: Option<&Position>, until: Option<Stored>) -> io::Result<KeptBlocks<J>> {
        *self.0.of.failure.lock().unwrap_or_else(PoisonError::into_inner) = None;
        self.0.of.can_read()?;
        let (from, place, places) = (self.0.clone(), Place::default(), Arc::default());
        let until_dropped = self.0.of.until_dropped.lock().unwrap_or_else(PoisonError::into_inner).take();
        let stored = position.map(|position| self.stored(position)).transpose()?;
        let ahead = self.ahead(stored.as_ref(), until.is_none())?;
        let mut blocks = KeptBlocks {
            current: None,
            from,
            place,
            is_whole: true,
            places,
            until,
            ahead,
            ended: false,
            _until_dropped: until_dropped,
        };
        let Some(stored) = stored else {
            // The first snapshot has the file that was there, whatever name it has when the run goes on.
            if self.0.of.files.first().is_some_and(|(_, of, _)| of.follow) {
                blocks.open(None)?;
            }
            return Ok(blocks);
        };
        blocks.place = Place { file: stored.file, at: stored.at.clone(), before: stored.before, ..Place::default() };
        match blocks.open(Some(&stored)) {
            // The next start begins there.
            Err(error) if is_end(&error) => blocks.ended = true,
            opened => opened?,
        }
        Ok(blocks)
    }

    /// The bytes of the followed file, if files before it are read first. It is the file that has the name when the
    /// run begins, whatever name it has when its turn comes, in this process or in another one.
    fn ahead(&self, from: Option<&Stored>, opens: bool) -> io::Result<Option<FollowedBytes>> {
        let of = &self.0.of;
        let Some(followed) = of.followed_after(from.map_or(0, |from| from.file)) else { return Ok(None) };
        let mut to_come = from.and_then(|from| from.followed.clone());
        let bytes = opens.then(|| followed.bytes(to_come.as_ref())).transpose()?;
        if bytes.is_some() && to_come.is_none() {
            to_come = Some(followed.position(&0)?);
        }
        *of.to_come.lock().unwrap_or_else(PoisonError::into_inner) = to_come;
        Ok(bytes)
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

    fn can_begin(&self, position: &Position) -> io::Result<()> {
        self.0.of.can_read()?;
        let (Inner { of, journal }, stored) = (&*self.0, self.stored(position)?);
        let (_, source, name) = &of.files[stored.file];
        if let (Some(followed), Some(at)) = (of.followed_after(stored.file), &stored.followed) {
            followed.can_begin(at)?;
        }
        match (journal, &of.followed) {
            (Some(journal), _) if comes_once(source, name) => {
                stored.journal.as_ref().map_or(Ok(()), |at| journal.can_begin(at))
            }
            (_, Some(followed)) if source.follow => {
                stored.followed.as_ref().map_or(Ok(()), |at| followed.can_begin(at))
            }
            // The answers of a query must all be asked for again.
            #[cfg(feature = "sqlite")]
            _ if source.query.is_some() => Ok(()),
            _ => check(name, &stored.at, stored.before).map_err(|error| named(name, error)),
        }
    }

    fn begin(&self, position: Option<&Position>) -> io::Result<KeptBlocks<J>> {
        self.begin_until(position, None)
    }

    fn position(&self, mark: &Place) -> io::Result<Position> {
        let Inner { of, journal } = &*self.0;
        let Place { file, at, passed, before, journal: in_journal } = mark;
        let followed = match (of.followed_after(*file), &of.followed) {
            (None, Some(followed)) => Some(followed.position(passed)?),
            _ => of.to_come.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        };
        let stored = Stored {
            file: *file,
            path: of.name(*file).unwrap_or_default(),
            at: at.clone(),
            before: *before,
            journal: journal.as_ref().map(|journal| journal.position(in_journal)).transpose()?,
            followed,
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

    fn let_go(&self) {
        if let Some(journal) = &self.0.journal {
            journal.let_go();
        }
    }

    fn failure(&self) -> Option<Error> {
        self.0.of.failure.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Whether the input comes only once, and therefore through the journal.
fn comes_once(of: &SourceOf, name: &OsStr) -> bool {
    name == "-" || of.listen.is_some()
}

/// The error with the name of its file; as it is if it only says that a signal has ended a wait.
fn named(name: &OsStr, error: Error) -> Error {
    if is_end(&error) {
        return error;
    }
    let name = if name == "-" { "standard input".as_ref() } else { name };
    Error::new(error.kind(), message(name, &error))
}
