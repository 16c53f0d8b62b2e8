//! Dead letters that can be done again: a failure that was set aside keeps its number, and a fixed version of the
//! program processes it again.
//!
//! [`KeptLetters`] keeps the failures of a job in its state directory, durably before a snapshot passes them. While
//! there are any, the newest snapshot before the first one stays. [`Persistent::redo`](crate::Persistent::redo) starts
//! the job there: the sink goes back to what it held then, the source begins there, and the fixed version takes every
//! number again. So the output is that of a run that never failed, even if later numbers depend on the one that failed,
//! and values of one key are in their order.

use crate::journal::{Journal, JournalError, JournalOptions, JournalReader};
use crate::{Manifest, StateDir};
use millstream_core::DeadLetter;
use millstream_core::failure::fail;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The dead letters of a job, in its state directory. Clones share them.
///
/// ```
/// use millstream::io::FileSink;
/// use millstream::prelude::*;
/// use millstream::state::dead_letters::KeptLetters;
/// use millstream::state::{Cadence, Persistent, StateDir, again};
///
/// fn run(fixed: bool) -> Result<usize, Box<dyn std::error::Error>> {
///     let state = StateDir::open("state", "sums")?;
///     let letters = KeptLetters::open(&state, Default::default())?;
///     let parse = move |text: &String| if fixed { text.trim().parse() } else { text.parse::<u64>() };
///     let sums = pipeline::<String>()
///         .try_map_or_dead_letter("parse", parse, letters.taking())
///         .scan(0, |sum, x| { *sum += x; *sum })
///         .named("sum")
///         .map(|sum| format!("{sum}\n"));
///     let lines = again(|| ["1", "2", " 3", "4"].into_iter().map(str::to_owned));
///     let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).letters(&letters);
///     let job = if fixed { job.redo() } else { job };
///     job.run(&sums, lines, FileSink::append("out"))?;
///     Ok(letters.list().len())
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// assert_eq!(run(false)?, 1);
/// assert_eq!(std::fs::read_to_string("out")?, "1\n3\n7\n");
/// assert_eq!(run(true)?, 0);
/// assert_eq!(std::fs::read_to_string("out")?, "1\n3\n6\n10\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct KeptLetters {
    kept: Arc<Mutex<Kept>>,
}

/// A failure that was set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeptLetter {
    /// The stage's name.
    pub stage: String,
    /// The number at which the output is empty.
    pub number: u64,
    /// Why there is no value, in words.
    pub why: String,
    /// The input of the function, written by postcard.
    pub input: Vec<u8>,
}

struct Kept {
    /// None if the directory is read alone.
    journal: Option<Journal>,
    /// By stage and number, with the reason and the input.
    letters: BTreeMap<(String, u64), (String, Vec<u8>)>,
}

/// A value of the journal.
#[derive(Serialize, Deserialize)]
enum Entry {
    Letter {
        stage: String,
        number: u64,
        why: String,
        input: Vec<u8>,
    },
    /// A run begins, at these numbers of stages, and at this one elsewhere. Letters from there on are removed: they
    /// come again if they fail again.
    Begins {
        stages: Vec<(String, u64)>,
        at: u64,
    },
}

/// The number at which a run begins for a stage.
fn begins(stages: &[(String, u64)], at: u64, stage: &str) -> u64 {
    stages.iter().find(|(name, _)| name == stage).map_or(at, |(_, number)| *number)
}

impl Kept {
    fn apply(&mut self, entry: Entry) {
        match entry {
            Entry::Letter { stage, number, why, input } => {
                self.letters.insert((stage, number), (why, input));
            }
            Entry::Begins { stages, at } => {
                self.letters.retain(|(stage, number), _| *number < begins(&stages, at, stage));
            }
        }
    }

    fn put(&mut self, entry: Entry) -> Result<(), JournalError> {
        self.write(&entry)?;
        self.apply(entry);
        match &mut self.journal {
            Some(journal) if self.letters.is_empty() => journal.trim_below(journal.durable()),
            _ => Ok(()),
        }
    }

    fn write(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let bytes = entry.bytes()?;
        let Some(journal) = &mut self.journal else { return Ok(()) };
        match entry {
            // A run must be able to begin, and to do letters again, whatever there is.
            Entry::Begins { .. } => journal.add(journal.next_number(), &bytes, u64::MAX)?,
            Entry::Letter { .. } => match journal.append(journal.next_number(), &bytes) {
                Err(JournalError::Full { .. }) => {
                    self.compact()?;
                    let Some(journal) = &mut self.journal else { return Ok(()) };
                    journal.append(journal.next_number(), &bytes)?;
                }
                appended => appended?,
            },
        }
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.commit()?;
        // For processes that only read.
        journal.mark()
    }

    /// Writes the present letters once more, and removes what is before: letters that are gone, and those that came
    /// several times.
    fn compact(&mut self) -> Result<(), JournalError> {
        let Some(journal) = &mut self.journal else { return Ok(()) };
        journal.end_segment()?;
        let first = journal.next_number();
        for ((stage, number), (why, input)) in &self.letters {
            let (stage, why, input) = (stage.clone(), why.clone(), input.clone());
            let bytes = Entry::Letter { stage, number: *number, why, input }.bytes()?;
            let next = journal.next_number();
            if let Err(JournalError::GroupFull { .. }) = journal.add(next, &bytes, u64::MAX) {
                journal.commit()?;
                journal.add(next, &bytes, u64::MAX)?;
            }
        }
        journal.commit()?;
        journal.sync()?;
        journal.trim_below(first)
    }
}

impl Entry {
    fn bytes(&self) -> Result<Vec<u8>, JournalError> {
        postcard::to_allocvec(self).map_err(|error| invalid(error.to_string()))
    }
}

fn invalid(why: String) -> JournalError {
    JournalError::Io {
        operation: "read",
        path: "dead-letters".into(),
        source: io::Error::new(io::ErrorKind::InvalidData, why),
    }
}

impl KeptLetters {
    /// Opens the dead letters of a state directory.
    ///
    /// # Errors
    ///
    /// As [`Journal::open`](crate::journal::Journal::open); or if there is something else among them.
    pub fn open(state: &StateDir, options: JournalOptions) -> Result<KeptLetters, JournalError> {
        let dir = state.path().join("dead-letters");
        let mut kept = Kept { journal: None, letters: BTreeMap::new() };
        let (read, journal) = if state.is_read_only() {
            let mut reader = JournalReader::new(state.disk().clone(), dir);
            let first = reader.first()?;
            (reader.read_from(first)?, None)
        } else {
            let (journal, _) = Journal::open(state.disk().clone(), dir, options, state.epoch())?;
            (journal.read_from(journal.first())?, Some(journal))
        };
        for read in read {
            let (place, bytes) = read?;
            let entry = postcard::from_bytes(&bytes).map_err(|error| invalid(format!("entry {place}: {error}")))?;
            kept.apply(entry);
        }
        kept.journal = journal;
        Ok(KeptLetters { kept: Arc::new(Mutex::new(kept)) })
    }

    /// A function that keeps the failures of a stage: for
    /// [`try_map_or_dead_letter`](millstream_core::TryMapExt::try_map_or_dead_letter) and its variants. It returns once
    /// the letter is durable, as far as [`Fsync`](crate::journal::Fsync) says; a snapshot that passes the letter is
    /// stored only when it is. If the letter cannot be kept, the run fails.
    pub fn taking<I: Serialize, E: Display>(
        &self,
    ) -> impl for<'a> Fn(DeadLetter<'a, I, E>) + Clone + Send + Sync + 'static + use<I, E> {
        let letters = self.clone();
        move |DeadLetter { stage, number, input, fault }| {
            let unwritten = |error| fail(format!("the dead letter at number {number} cannot be written: {error}"));
            let input = postcard::to_allocvec(input).unwrap_or_else(unwritten);
            let entry = Entry::Letter { stage: stage.to_owned(), number: number.0, why: fault.to_string(), input };
            let kept = letters.kept().put(entry);
            kept.unwrap_or_else(|error| match error {
                JournalError::Full { path, max, .. } => fail(format!(
                    "the dead letter at number {number} has no room: those in {} have all that they may, {max} bytes. \
                     Do them again by a version that is right, by `redo`, or raise `max_bytes`",
                    path.display()
                )),
                error => fail(format!("the dead letter at number {number}: {error}")),
            });
        }
    }

    /// All of them, by stage and number.
    #[must_use]
    pub fn list(&self) -> Vec<KeptLetter> {
        let letter = |((stage, number), (why, input)): (&(String, u64), &(String, Vec<u8>))| KeptLetter {
            stage: stage.clone(),
            number: *number,
            why: why.clone(),
            input: input.clone(),
        };
        self.kept().letters.iter().map(letter).collect()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept().letters.is_empty()
    }

    /// Makes all of them durable, and says so in the journal, for processes that only read.
    pub(crate) fn sync(&self) -> Result<(), JournalError> {
        let mut kept = self.kept();
        let Some(journal) = &mut kept.journal else { return Ok(()) };
        journal.sync()?;
        journal.mark()
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a run begins at these numbers of its stages, and elsewhere at `at`: letters from there on are
    /// removed. If there is none, nothing is written, so that a job that begins again and again fills no disk.
    pub(crate) fn begin(&self, stages: Vec<(String, u64)>, at: u64) -> Result<(), JournalError> {
        let mut kept = self.kept();
        let removes = kept.letters.keys().any(|(stage, number)| *number >= begins(&stages, at, stage));
        if removes { kept.put(Entry::Begins { stages, at }) } else { Ok(()) }
    }

    /// Of these snapshots, oldest first, the newest one from which a run does all of them again, by its id: the job
    /// keeps it and all later ones while there are letters. `None` without letters, or if it is not kept.
    #[must_use]
    pub fn needed<'a>(&self, snapshots: impl DoubleEndedIterator<Item = &'a Manifest>) -> Option<u64> {
        let before_all = |snapshot: &&Manifest| {
            let stages: Vec<_> = snapshot.numbers.iter().map(|(stage, number)| (stage.clone(), *number)).collect();
            self.all_from(&stages, snapshot.at)
        };
        let has_letters = !self.is_empty();
        snapshots.rev().find(before_all).filter(|_| has_letters).map(|snapshot| snapshot.id)
    }

    /// Whether a run that begins at these numbers of its stages, and elsewhere at `at`, processes all letters again.
    pub(crate) fn all_from(&self, stages: &[(String, u64)], at: u64) -> bool {
        self.kept().letters.keys().all(|(stage, number)| *number >= begins(stages, at, stage))
    }
}

impl fmt::Debug for KeptLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeptLetters").field("letters", &self.list().len()).finish_non_exhaustive()
    }
}
