//! Live values that are written to a journal before they are passed on.

mod values;

use super::Recorded;
use super::behind::{Behind, Followed};
use super::{Groups, Position, Resumable, journaled_in_groups, of_another_source};
use crate::StateDir;
use crate::disk::Disk;
use crate::journal::{Journal, JournalError, JournalOptions, JournalReader, Recovered};
use crate::room::Room;
use std::collections::VecDeque;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub use values::JournaledValues;
use values::Later;

/// A live source with a journal: see [`journaled`], and [`journaled_in_groups`](super::journaled_in_groups).
pub struct Journaled<F> {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    epoch: u64,
    options: JournalOptions,
    /// Whether it only reads the journal.
    read_only: bool,
    live: Mutex<Option<F>>,
    journal: Arc<Mutex<Option<Journal>>>,
    /// The journal, if it was opened to see whether the source can begin.
    opened: Mutex<Option<(Journal, Recovered)>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    recovered: Arc<Mutex<Option<String>>>,
    on_recovery: Option<OnRecovery>,
    on_full: Option<OnFull>,
    /// Set if it follows the journal of another process, from which this one takes over.
    behind: Option<Arc<Behind>>,
    /// By which it asks the job for room.
    room: Arc<Room>,
    /// How many values there must be after the position.
    expected: AtomicU64,
}

type OnFull = Arc<dyn Fn(&JournalError) + Send + Sync>;
type OnRecovery = Box<dyn Fn(&Recovered) + Send + Sync>;

/// Where the values of a journal are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JournalPlace {
    /// The number of the next one in the journal.
    next: u64,
    /// How many before it were lost, and left out: its number in the stream is less by this.
    lost: u64,
}

impl JournalPlace {
    /// Most journals lose nothing: then it is a number.
    fn position(self) -> Position {
        if self.lost == 0 { self.next.into() } else { vec![self.next, self.lost].into() }
    }

    /// The place at a stored position.
    fn begins(position: &Position) -> io::Result<Self> {
        Self::of(position).ok_or_else(|| of_another_source("a number of the journal", position))
    }

    fn of(position: &Position) -> Option<Self> {
        let number = |n: usize| position.get(n).and_then(Position::as_u64);
        match position.as_u64() {
            Some(next) => Some(JournalPlace { next, lost: 0 }),
            None => Some(JournalPlace { next: number(0)?, lost: number(1)? }),
        }
    }

    /// Skips to this number of the journal, which is the next one or a later one.
    fn pass_to(&mut self, number: u64) {
        self.lost += number - self.next;
        self.next = number;
    }
}

/// A source that cannot be read again, such as standard input or a socket, as one that can: each value is in a journal
/// in the state directory before it is passed on. After a crash its values are first those of the journal, from the
/// snapshot's number on, and then those of `live`. A value that was read but not yet in the journal is lost with the
/// process, and only its sender can repeat it.
///
/// A value is passed on when its commit has returned, so with [`Fsync::Every`](crate::journal::Fsync) nothing leaves
/// the job for a value that a crash of the machine could take back; each value then costs a sync. With the other
/// policies a crash of the machine, but not of the process, may lose values whose output has left. The journal is
/// synced before a snapshot is stored, and trimmed up to the oldest snapshot that is kept. A full journal holds the
/// source back until the job has [made room](crate::Persistent::keep).
///
/// With a directory that was [opened to be read](StateDir::read) its values are those of the journal alone, up to where
/// it is known to be durable.
///
/// ```
/// use millstream::{io::{Block, FileSink}, prelude::*};
/// use millstream::state::{Persistent, StateDir, journal::JournalOptions, journaled};
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let count = pipeline::<String>().scan(0, |n, line| { *n += 1; format!("{n} {line}\n") }).named("count");
/// for lines in [["a", "b"], ["c", "d"]] {
///     let state = StateDir::open("state", "count")?;
///     let live = journaled(&state, JournalOptions::default(), move || lines.into_iter().map(str::to_owned));
///     Persistent::new(Rings::new(), state).run(&count, live, FileSink::append("out"))?;
/// }
/// assert_eq!(std::fs::read_to_string("out")?, "1 a\n2 b\n3 c\n4 d\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// Standard input is read on another thread, so it must be `Send`, as a reader of its own around it is. A
/// `StdinLock` is not:
///
/// ```no_run
/// use millstream::{io::FileSink, prelude::*};
/// use millstream::state::{Persistent, StateDir, journal::JournalOptions, journaled};
/// use std::io::{BufRead, BufReader, stdin};
///
/// let count = pipeline::<String>().scan(0, |n, line| { *n += 1; format!("{n} {line}\n") }).named("count");
/// let state = StateDir::open("state", "count")?;
/// let live = journaled(&state, JournalOptions::default(), || BufReader::new(stdin()).lines().map_while(Result::ok));
/// Persistent::new(Rings::new(), state).run(&count, live, FileSink::append("out"))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn journaled<F, I>(
    state: &StateDir,
    options: JournalOptions,
    live: F,
) -> Journaled<impl FnOnce() -> Each<I::IntoIter> + Send + 'static + use<F, I>>
where
    F: FnOnce() -> I + Send + 'static,
    I: IntoIterator<Item: Recorded, IntoIter: Send + 'static>,
{
    journaled_in_groups(state, options, move || Each(live().into_iter()))
}

impl<F> Journaled<F> {
    pub(super) fn of(state: &StateDir, options: JournalOptions, live: F) -> Self {
        Journaled {
            dir: state.journal_dir(),
            disk: state.disk().clone(),
            epoch: state.epoch(),
            options,
            read_only: state.is_read_only(),
            live: Mutex::new(Some(live)),
            journal: Arc::default(),
            opened: Mutex::default(),
            failure: Arc::default(),
            recovered: Arc::default(),
            on_recovery: None,
            on_full: None,
            behind: state.behind().inspect(|behind| behind.is_read_with(options)).cloned(),
            room: state.room().of_journal(),
            expected: AtomicU64::new(0),
        }
    }

    /// Follows the journal of another process, until this one is given its writer.
    #[cfg(feature = "service")]
    pub(crate) fn following(self, behind: Arc<Behind>) -> Self {
        Journaled { behind: Some(behind), ..self }
    }

    /// Calls `f` with the findings in the journal, when its values begin.
    #[must_use]
    pub fn on_recovery(self, f: impl Fn(&Recovered) + Send + Sync + 'static) -> Self {
        Journaled { on_recovery: Some(Box::new(f)), ..self }
    }

    /// If the disk is full, waits until there is room, so that no value is lost that the live source has yielded. Calls
    /// `f` when it begins to wait, with the journal's error. Without this, a full disk ends the source with that error.
    ///
    /// The same holds for a journal that has its [most bytes](JournalOptions::max_bytes): `f` is called if the job has
    /// made no room for a second. Without this, the source ends if there is none to be made.
    #[must_use]
    pub fn waiting_for_room(self, f: impl Fn(&JournalError) + Send + Sync + 'static) -> Self {
        Journaled { on_full: Some(Arc::new(f)), ..self }
    }

    /// What was found in the journal when its values began, in a sentence: a torn end that was cut off, for example.
    #[must_use]
    pub fn recovered(&self) -> Option<String> {
        locked(&self.recovered).clone()
    }

    /// Opens the journal, which must reach up to this number, or takes the one that is open.
    fn open(&self, at_least: u64) -> io::Result<(Journal, Recovered)> {
        let opened = locked(&self.opened).take();
        match opened.filter(|(journal, _)| journal.next_number() >= at_least) {
            Some(opened) => Ok(opened),
            None => {
                let options = JournalOptions { at_least, ..self.options };
                Journal::open(self.disk.clone(), &self.dir, options, self.epoch).map_err(io::Error::other)
            }
        }
    }

    /// Its values from this place on: those of the journal, and then those of the live source.
    fn begin_at<G: Groups>(&self, place: JournalPlace) -> io::Result<JournaledValues<G>>
    where
        F: FnOnce() -> G + Send + 'static,
    {
        let (journal, failure, on_full) = (self.journal.clone(), self.failure.clone(), self.on_full.clone());
        let room = self.room.clone();
        let values = |recorded, live| {
            let (group, bytes) = (VecDeque::new(), Vec::new());
            let (followed, later) = (None, None);
            JournaledValues { recorded, followed, later, live, group, place, bytes, journal, failure, on_full, room }
        };
        let next = place.next;
        let live = || locked(&self.live).take().ok_or_else(|| io::Error::other("its values can begin only once"));
        if let Some(behind) = &self.behind {
            let reader = JournalReader::new(self.disk.clone(), &self.dir);
            let reader = if self.options.skip_corrupt { reader.skip_corrupt() } else { reader };
            let followed =
                Followed::begin(reader, (next, next - place.lost), behind.clone()).map_err(io::Error::other)?;
            let later = Later { behind: behind.clone(), live: Box::new(live()?) };
            return Ok(JournaledValues { followed: Some(followed), later: Some(later), ..values(None, None) });
        }
        if self.read_only {
            let recorded = JournalReader::new(self.disk.clone(), &self.dir).read_from(next);
            return Ok(values(Some(recorded.map_err(io::Error::other)?), None));
        }
        let (opened, recovered) = self.open(next + self.expected.load(Ordering::Relaxed))?;
        *locked(&self.recovered) = Some(recovered.to_string());
        if let Some(tell) = &self.on_recovery {
            tell(&recovered);
        }
        let there = next < opened.next_number();
        let recorded = there.then(|| opened.read_from(next)).transpose().map_err(io::Error::other)?;
        *locked(&self.journal) = Some(opened);
        Ok(values(recorded, Some(live()?())))
    }
}

impl<F> std::fmt::Debug for Journaled<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Journaled").field("dir", &self.dir).finish_non_exhaustive()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Values one by one, as groups of one.
#[derive(Debug)]
pub struct Each<I>(I);

impl<I: Iterator<Item: Recorded>> Groups for Each<I> {
    type Item = I::Item;

    fn next_group(&mut self, group: &mut VecDeque<I::Item>) -> bool {
        group.extend(self.0.next());
        !group.is_empty()
    }
}

impl<T, F, G> Resumable<T> for Journaled<F>
where
    T: Recorded,
    F: FnOnce() -> G + Send + 'static,
    G: Groups<Item = T> + Send + 'static,
{
    type Mark = JournalPlace;
    type Values = JournaledValues<G>;
    const WAITS: bool = true;

    fn expect(&self, values: u64) {
        self.expected.store(values, Ordering::Relaxed);
    }

    fn can_begin(&self, position: &Position) -> io::Result<()> {
        let JournalPlace { next, .. } = JournalPlace::begins(position)?;
        if self.behind.is_some() || self.read_only {
            return Ok(());
        }
        let opened = self.open(next)?;
        if next < opened.0.next_number() {
            opened.0.read_from(next).map_err(io::Error::other)?;
        }
        *locked(&self.opened) = Some(opened);
        Ok(())
    }

    fn begin(&self, position: Option<&Position>) -> io::Result<JournaledValues<G>> {
        self.begin_at(position.map(JournalPlace::begins).transpose()?.unwrap_or_default())
    }

    fn position(&self, mark: &JournalPlace) -> io::Result<Position> {
        if let Some(journal) = &mut *locked(&self.journal) {
            // A crash of the machine must not take values that the snapshot contains, and who reads the journal beside
            // this process must find them.
            let synced = if journal.durable() < mark.next { journal.sync().map(drop) } else { Ok(()) };
            synced.and_then(|()| journal.mark()).map_err(io::Error::other)?;
        }
        Ok(mark.position())
    }

    fn has_passed(&self, mark: &JournalPlace, further: u64) -> bool {
        locked(&self.journal).as_ref().is_none_or(|journal| mark.next + further == journal.next_number())
    }

    fn forget(&self, oldest: &Position) {
        if let (Some(oldest), Some(journal)) = (JournalPlace::of(oldest), &mut *locked(&self.journal))
            && let Err(error) = journal.trim_below(oldest.next)
        {
            // The next commit fails, too.
            locked(&self.failure).get_or_insert(io::Error::other(error));
        }
    }

    fn let_go(&self) {
        *locked(&self.journal) = None;
    }

    fn failure(&self) -> Option<io::Error> {
        locked(&self.failure).take()
    }
}
