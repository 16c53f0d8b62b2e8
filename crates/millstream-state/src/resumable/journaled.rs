//! Live values, which are written down before they are passed on.

use super::{Places, Position, Resumable};
use crate::StateDir;
use crate::disk::Disk;
use crate::journal::{Journal, JournalError, JournalOptions, JournalReader, Records};
use millstream_core::Item;
use millstream_core::text::Block;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// A value that a journal can hold.
pub trait Recorded: Item + Sized {
    /// Appends its bytes.
    fn write(&self, bytes: &mut Vec<u8>);

    /// The value of these bytes.
    ///
    /// # Errors
    ///
    /// Why they are none.
    fn read(bytes: Vec<u8>) -> Result<Self, String>;
}

impl Recorded for Block {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self);
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes.into())
    }
}

impl Recorded for String {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self.as_bytes());
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        String::from_utf8(bytes).map_err(|error| error.to_string())
    }
}

impl Recorded for Vec<u8> {
    fn write(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(self);
    }

    fn read(bytes: Vec<u8>) -> Result<Self, String> {
        Ok(bytes)
    }
}

/// A live source with a journal: see [`journaled`].
pub struct Journaled<F> {
    dir: PathBuf,
    disk: Arc<dyn Disk>,
    epoch: u64,
    options: JournalOptions,
    /// Whether it only reads what is there.
    read_only: bool,
    live: Mutex<Option<F>>,
    journal: Arc<Mutex<Option<Journal>>>,
    failure: Arc<Mutex<Option<io::Error>>>,
    recovered: Arc<Mutex<Option<String>>>,
}

/// A source that cannot be read again, such as standard input or a socket, as one that can: each value is in a journal
/// in the state directory before it is passed on. After a crash its values are first those of the journal, from the
/// snapshot's number on, and then what `live` brings. What was read and was not in the journal yet is lost with the
/// process: only its sender could know.
///
/// A value is passed on when its commit has returned, so with [`Fsync::Every`](crate::journal::Fsync) nothing leaves
/// the job for a value that a crash of the machine could take back; each value then costs a sync. With the other
/// policies a crash of the machine, but not of the process, may lose values whose output has left. The journal is
/// trimmed behind the oldest snapshot that is kept. A full journal holds the source back until then.
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
pub fn journaled<F, I>(state: &StateDir, options: JournalOptions, live: F) -> Journaled<F>
where
    F: FnOnce() -> I + Send + 'static,
    I: IntoIterator,
{
    Journaled {
        dir: state.journal_dir(),
        disk: state.disk().clone(),
        epoch: state.epoch(),
        options,
        read_only: state.is_read_only(),
        live: Mutex::new(Some(live)),
        journal: Arc::default(),
        failure: Arc::default(),
        recovered: Arc::default(),
    }
}

impl<F> Journaled<F> {
    /// What was found in the journal when its values began, in a sentence: a torn end that was cut off, for example.
    #[must_use]
    pub fn recovered(&self) -> Option<String> {
        locked(&self.recovered).clone()
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

/// How long a full journal waits before it looks again whether it was trimmed.
const FULL: Duration = Duration::from_millis(10);

/// The values of a [`Journaled`].
#[derive(Debug)]
pub struct JournaledValues<I> {
    recorded: Option<Records>,
    live: Option<I>,
    next: u64,
    bytes: Vec<u8>,
    journal: Arc<Mutex<Option<Journal>>>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl<T, F, I> Resumable<T> for Journaled<F>
where
    T: Recorded,
    F: FnOnce() -> I + Send + 'static,
    I: IntoIterator<Item = T, IntoIter: Send + 'static>,
{
    /// The number of values.
    type Mark = u64;
    type Values = JournaledValues<I::IntoIter>;
    const WAITS: bool = true;

    fn begin(&self, position: Option<&Position>) -> io::Result<JournaledValues<I::IntoIter>> {
        let next = position.and_then(Position::as_u64).unwrap_or(0);
        let (journal, failure) = (self.journal.clone(), self.failure.clone());
        if self.read_only {
            let recorded =
                JournalReader::new(self.disk.clone(), &self.dir).read_from(next).map_err(io::Error::other)?;
            return Ok(JournaledValues {
                recorded: Some(recorded),
                live: None,
                next,
                bytes: Vec::new(),
                journal,
                failure,
            });
        }
        let options = JournalOptions { at_least: next, ..self.options };
        let opened = Journal::open(self.disk.clone(), &self.dir, options, self.epoch).map_err(io::Error::other)?;
        let (opened, recovered) = opened;
        *locked(&self.recovered) = Some(recovered.to_string());
        let there = next < opened.next_number();
        let recorded = there.then(|| opened.read_from(next)).transpose().map_err(io::Error::other)?;
        *locked(&self.journal) = Some(opened);
        let live = locked(&self.live).take().ok_or_else(|| io::Error::other("its values can begin once"))?;
        let live = Some(live().into_iter());
        Ok(JournaledValues { recorded, live, next, bytes: Vec::new(), journal, failure })
    }

    fn position(&self, mark: &u64) -> io::Result<Position> {
        Ok((*mark).into())
    }

    fn forget(&self, oldest: &Position) {
        if let (Some(oldest), Some(journal)) = (oldest.as_u64(), &mut *locked(&self.journal))
            && let Err(error) = journal.trim_below(oldest)
        {
            // The next commit fails, too.
            locked(&self.failure).get_or_insert(io::Error::other(error));
        }
    }

    fn failure(&self) -> Option<io::Error> {
        locked(&self.failure).take()
    }
}

impl<I: Iterator<Item: Recorded>> JournaledValues<I> {
    fn record(&mut self, value: &I::Item) -> Result<(), JournalError> {
        self.bytes.clear();
        value.write(&mut self.bytes);
        loop {
            if let Some(journal) = &mut *locked(&self.journal) {
                match journal.append(self.next, &self.bytes) {
                    // Room comes with the next snapshot.
                    Err(JournalError::Full { .. }) => {}
                    appended => {
                        appended?;
                        return journal.commit().map(drop);
                    }
                }
            }
            sleep(FULL);
        }
    }
}

impl<I: Iterator<Item: Recorded>> Iterator for JournaledValues<I> {
    type Item = I::Item;

    fn next(&mut self) -> Option<I::Item> {
        if let Some(recorded) = &mut self.recorded {
            let read = recorded.next().map(|read| {
                let (_, bytes) = read.map_err(io::Error::other)?;
                I::Item::read(bytes).map_err(io::Error::other)
            });
            match read {
                Some(Ok(value)) => {
                    self.next += 1;
                    return Some(value);
                }
                Some(Err(error)) => return self.fail(error),
                None => self.recorded = None,
            }
        }
        let value = self.live.as_mut()?.next()?;
        match self.record(&value) {
            Ok(()) => {
                self.next += 1;
                Some(value)
            }
            Err(error) => self.fail(io::Error::other(error)),
        }
    }
}

impl<I> JournaledValues<I> {
    fn fail(&mut self, error: io::Error) -> Option<I::Item>
    where
        I: Iterator,
    {
        locked(&self.failure).get_or_insert(error);
        (self.recorded, self.live) = (None, None);
        None
    }
}

impl<I: Iterator<Item: Recorded>> Places for JournaledValues<I> {
    type Mark = u64;

    fn place(&self) -> u64 {
        self.next
    }
}
