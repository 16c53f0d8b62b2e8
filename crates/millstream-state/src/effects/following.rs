//! A record of effects that follows the one of another process, until this process has the directory.

use super::EffectKey;
use super::record::{Live, Record, RecordError, Table, taken};
use super::writer::Writer;
use crate::StateDir;
use crate::journal::{Journal, JournalError, JournalOptions, JournalReader, Records, once_released};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The time between two looks at the other process's record.
const LOOK: Duration = Duration::from_millis(5);

/// The record of the other process.
pub(super) struct Follows {
    dir: PathBuf,
    options: JournalOptions,
    entries: Mutex<Entries>,
    over: AtomicBool,
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
}

impl Record {
    /// The record of the process that has this directory, which was opened to be read.
    pub(super) fn follow(state: &StateDir, options: JournalOptions) -> Result<Record, JournalError> {
        let dir = state.effects_dir();
        let mut reader = JournalReader::new(state.disk().clone(), &dir);
        let first = reader.first()?;
        let mut values = reader.read_from(first)?;
        let (mut live, mut table) = (Live::new(), Table::new());
        values.by_ref().try_for_each(|read| taken(&dir, read, &mut live, &mut table))?;
        let entries = Mutex::new(Entries { reader, values, live, looked: Instant::now() });
        let follows = Some(Follows { dir, options, entries, over: AtomicBool::new(false) });
        let (job, table, ended) = (state.program().into(), Mutex::new(table), Condvar::new());
        Ok(Record { job, writer: OnceLock::new(), follows, table, ended })
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
        let mut found = false;
        if let Ok(mut entries) = follows.entries.try_lock()
            && entries.looked.elapsed() >= LOOK
            && self.waits()
        {
            let Entries { reader, values, live, looked } = &mut *entries;
            let mut table = self.table();
            let read = reader.read_on(values).and_then(|()| {
                values.try_for_each(|read| {
                    found = true;
                    taken(&follows.dir, read, live, &mut table)
                })
            });
            *looked = Instant::now();
            read.map_err(|error| RecordError::Lost(error.to_string()))?;
        }
        if found {
            self.ended.notify_all();
            return Ok(self.table());
        }
        let (table, _) = self.ended.wait_timeout(self.table(), LOOK).unwrap_or_else(PoisonError::into_inner);
        Ok(table)
    }

    /// Takes the record over: this process has the directory, and performs the effects that have no answer.
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
                let mut rest = journal.read_from(next.max(journal.first()))?;
                rest.try_for_each(|read| taken(&follows.dir, read, &mut entries.live, &mut table))?;
            }
            // It is set once: a record is taken over by one run.
            let _ = self.writer.set(Writer::new(journal, std::mem::take(&mut entries.live)));
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
