//! A record of effects that follows the one of another process, until this process has the directory.

use super::EffectKey;
use super::record::{Live, Record, RecordError, Table, taken};
use super::writer::Writer;
use crate::StateDir;
use crate::disk::Disk;
use crate::journal::{Journal, JournalError, JournalOptions, JournalReader, Records, once_released};
use crate::room::Room;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks at the other process's record.
const LOOK: Duration = Duration::from_millis(5);

/// How often all entries are read again, because the other process has removed those that were about to be read.
const MOST_REMOVED: u32 = 10;

/// The record of the other process.
pub(super) struct Follows {
    disk: Arc<dyn Disk>,
    dir: PathBuf,
    options: JournalOptions,
    entries: Mutex<Entries>,
    over: AtomicBool,
    /// By which it asks the job for room, once it is the writer.
    room: Arc<Room>,
    /// Why the record cannot be read any more.
    lost: Mutex<Option<JournalError>>,
}

struct Entries {
    reader: JournalReader,
    values: Records,
    live: Live,
    looked: Instant,
}

impl Follows {
    fn entries(&self) -> MutexGuard<'_, Entries> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lost(&self) -> MutexGuard<'_, Option<JournalError>> {
        self.lost.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Entries {
    /// All entries that are there. The other process may remove the first ones meanwhile.
    fn all(disk: &Arc<dyn Disk>, dir: &Path) -> Result<(Entries, Table), JournalError> {
        let read = || -> Result<_, JournalError> {
            let mut reader = JournalReader::new(disk.clone(), dir);
            let values = reader.first().and_then(|first| reader.read_from(first))?;
            let mut entries = Entries { reader, values, live: Live::new(), looked: Instant::now() };
            let mut table = Table::new();
            entries.take(dir, &mut table)?;
            Ok((entries, table))
        };
        for _ in 1..MOST_REMOVED {
            match read() {
                Err(error) if error.is_gone() => {}
                read => return read,
            }
        }
        read()
    }

    /// Takes what can be read. Returns whether that was anything.
    fn take(&mut self, dir: &Path, table: &mut Table) -> Result<bool, JournalError> {
        let mut found = false;
        self.values.by_ref().try_for_each(|read| {
            found = true;
            taken(dir, read, &mut self.live, table)
        })?;
        Ok(found)
    }

    /// Takes what the other process has recorded since the last look.
    fn look(&mut self, dir: &Path, table: &mut Table) -> Result<bool, JournalError> {
        self.looked = Instant::now();
        self.reader.read_on(&mut self.values)?;
        self.take(dir, table)
    }
}

impl Record {
    /// The record of the process that has this directory, which was opened to be read.
    pub(super) fn follow(state: &StateDir, options: JournalOptions) -> Result<Record, JournalError> {
        let (disk, dir) = (state.disk().clone(), state.effects_dir());
        let (entries, table) = Entries::all(&disk, &dir)?;
        let (entries, over, lost) = (Mutex::new(entries), AtomicBool::new(false), Mutex::default());
        let room = state.room().of_journal();
        let follows = Some(Follows { disk, dir, options, entries, over, room, lost });
        let (job, table, ended) = (state.program().into(), Mutex::new(table), Condvar::new());
        let (wakers, names) = (Mutex::default(), Mutex::default());
        Ok(Record { job, writer: OnceLock::new(), follows, table, ended, wakers, names })
    }

    /// Reads what is there, before the job chooses the snapshot that it begins with: entries that were removed until
    /// then are of numbers before all snapshots.
    pub(super) fn begin_behind(&self) -> Result<(), JournalError> {
        let Some(follows) = &self.follows else { return Ok(()) };
        let (mut entries, mut table) = (follows.entries(), self.table());
        if entries.look(&follows.dir, &mut table).is_err() {
            (*entries, *table) = Entries::all(&follows.disk, &follows.dir)?;
        }
        Ok(())
    }

    /// Why the other process's record cannot be read any more, if that has ended the job.
    pub(super) fn take_lost(&self) -> Option<JournalError> {
        self.follows.as_ref().and_then(|follows| follows.lost().take())
    }

    /// Whether another process performs the effects.
    pub(super) fn waits(&self) -> bool {
        self.follows.is_some() && self.writer.get().is_none()
    }

    /// Reads what the other process has recorded since, or waits a little.
    pub(super) fn read_more(&self, key: &EffectKey) -> Result<MutexGuard<'_, Table>, RecordError> {
        let Some(follows) = &self.follows else { return Ok(self.table()) };
        if follows.over.load(Ordering::Acquire) {
            return Err(RecordError::Over(key.clone()));
        }
        // One thread looks for all that wait.
        if let Ok(mut entries) = follows.entries.try_lock()
            && entries.looked.elapsed() >= LOOK
            && self.waits()
        {
            let mut table = self.table();
            match entries.look(&follows.dir, &mut table) {
                Ok(true) => {
                    self.ended.notify_all();
                    return Ok(table);
                }
                Ok(false) => {}
                Err(error) => {
                    let why = RecordError::Lost(error.to_string());
                    follows.lost().get_or_insert(error);
                    return Err(why);
                }
            }
        }
        let (table, _) = self.ended.wait_timeout(self.table(), LOOK).unwrap_or_else(PoisonError::into_inner);
        Ok(table)
    }

    /// Takes the record over: this process has the directory, and performs the effects that have no answer. It is an
    /// error if unread entries were removed: one of them may be the answer to a number that the job has yet to reach.
    pub(super) fn own(&self, dir: &StateDir) -> Result<(), JournalError> {
        let Some(follows) = &self.follows else { return Ok(()) };
        let mut entries = follows.entries();
        let next = entries.values.next_number();
        let options = JournalOptions { at_least: next, ..follows.options };
        let open = || Journal::open(dir.disk().clone(), &follows.dir, options, dir.epoch());
        let (journal, _) = once_released(open)?;
        {
            let mut table = self.table();
            if next < journal.next_number() {
                let mut rest = journal.read_from(next)?;
                rest.try_for_each(|read| taken(&follows.dir, read, &mut entries.live, &mut table))?;
            }
            // It is set once: a record is taken over by one run.
            let _ = self.writer.set(Writer::new(journal, std::mem::take(&mut entries.live), follows.room.clone()));
        }
        self.ended.notify_all();
        Ok(())
    }

    /// Ends the stages that wait for an answer, unless this process has the record.
    pub(super) fn over(&self) {
        if let Some(follows) = &self.follows {
            follows.over.store(true, Ordering::Release);
            drop(self.table());
            self.ended.notify_all();
        }
    }
}
