//! The known outcomes of effects at each number, and the thread that performs one.

use super::EffectKey;
use super::entry::Known;
use super::following::Follows;
use super::writer::Writer;
use crate::StateDir;
use crate::journal::{Journal, JournalError, JournalOptions, JournalReader};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::future::poll_fn;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Poll, Waker};
use std::{io, mem};

/// Why an effect has no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum RecordError {
    #[error("{0} is not recorded, and a run that only reads performs no effects")]
    NotRecorded(EffectKey),
    #[error("the record of effects: {0}")]
    Lost(String),
    #[error("{0} is not recorded, and the run that waited for it is over")]
    Over(EffectKey),
}

pub(super) struct Record {
    pub(super) job: Arc<str>,
    /// None if the directory is read alone, or until this process takes over.
    pub(super) writer: OnceLock<Writer>,
    /// Set if it follows that of another process.
    pub(super) follows: Option<Follows>,
    pub(super) table: Mutex<Table>,
    /// Notified when an effect is no longer under way.
    pub(super) ended: Condvar,
    /// The futures that wait for that. Locked after the table.
    pub(super) wakers: Mutex<Vec<Waker>>,
    /// The effects that this process has made.
    pub(super) names: Mutex<HashSet<Arc<str>>>,
}

/// By the effect's name and the number.
pub(super) type Table = HashMap<Arc<str>, BTreeMap<u64, Slot>>;

pub(super) enum Slot {
    Known(Known),
    /// It is under way.
    Performing,
}

/// What the caller must do at a number.
pub(super) enum Begun {
    Answered(Vec<u8>),
    Unknown,
    Performs(Performing),
    /// The same, but it is not known whether it was performed.
    Intended(Performing),
}

/// The right to perform an effect at a number. If it is dropped without an end, the next caller gets it.
pub(super) struct Performing {
    record: Arc<Record>,
    key: EffectKey,
    intended: bool,
    ended: bool,
}

/// The entries of the journal that are not forgotten: their places in it, effects and numbers.
pub(super) type Live = Vec<(u64, Arc<str>, u64)>;

/// Takes an entry of the journal in this directory.
pub(super) fn taken(
    dir: &Path,
    read: Result<(u64, Vec<u8>), JournalError>,
    live: &mut Live,
    table: &mut Table,
) -> Result<(), JournalError> {
    let (entry, bytes) = read?;
    let why = || io::Error::new(io::ErrorKind::InvalidData, format!("entry {entry} is not that of an effect"));
    let unread = || JournalError::io("read", dir)(why());
    let (effect, number, known) = Known::read(&bytes).ok_or_else(unread)?;
    let effect = Arc::<str>::from(effect);
    live.push((entry, effect.clone(), number));
    table.entry(effect).or_default().insert(number, Slot::Known(known));
    Ok(())
}

impl Record {
    pub(super) fn open(state: &StateDir, options: JournalOptions) -> Result<(Record, Option<String>), JournalError> {
        let dir = state.effects_dir();
        let mut table = Table::new();
        let mut live = Live::new();
        let mut take = |read| taken(&dir, read, &mut live, &mut table);
        let (mut writer, mut recovered) = (None, None);
        if state.is_read_only() {
            let mut reader = JournalReader::new(state.disk().clone(), &dir);
            let first = reader.first()?;
            reader.read_from(first)?.try_for_each(&mut take)?;
        } else {
            let (journal, found) = Journal::open(state.disk().clone(), &dir, options, state.epoch())?;
            journal.read_from(journal.first())?.try_for_each(&mut take)?;
            (writer, recovered) = (Some(journal), Some(found.to_string()));
        }
        let writer =
            writer.map_or_else(OnceLock::new, |journal| Writer::new(journal, live, state.room().of_journal()).into());
        let (job, table, ended) = (state.program().into(), Mutex::new(table), Condvar::new());
        let (wakers, names) = (Mutex::default(), Mutex::default());
        Ok((Record { job, writer, follows: None, table, ended, wakers, names }, recovered))
    }

    pub(super) fn job(&self) -> Arc<str> {
        self.job.clone()
    }

    pub(super) fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the caller must do for this key. While another one performs it, `waits` is called, and there is none.
    fn look(
        self: &Arc<Self>,
        key: &EffectKey,
        waits: impl FnOnce(MutexGuard<'_, Table>),
    ) -> Result<Option<Begun>, RecordError> {
        let mut table = self.table();
        let intended = loop {
            match table.get(&key.effect).and_then(|numbers| numbers.get(&key.number)) {
                Some(Slot::Known(Known::Answer(answer))) => return Ok(Some(Begun::Answered(answer.clone()))),
                Some(Slot::Known(Known::Unknown)) => return Ok(Some(Begun::Unknown)),
                // The other process performs it, or has yet to.
                Some(Slot::Known(Known::Intent)) | None if self.waits() => {
                    drop(table);
                    table = self.read_more(key)?;
                }
                Some(Slot::Known(Known::Intent)) => break true,
                None => break false,
                Some(Slot::Performing) => {
                    waits(table);
                    return Ok(None);
                }
            }
        };
        if self.writer.get().is_none() {
            return Err(RecordError::NotRecorded(key.clone()));
        }
        table.entry(key.effect.clone()).or_default().insert(key.number, Slot::Performing);
        let performing = Performing { record: self.clone(), key: key.clone(), intended, ended: false };
        Ok(Some(if intended { Begun::Intended(performing) } else { Begun::Performs(performing) }))
    }

    /// What the caller must do for this key. If it must perform the effect and the policy wants an intent, the intent
    /// is durable then. Waits while another thread performs it.
    pub(super) fn begin(self: &Arc<Self>, key: &EffectKey, intent: bool) -> Result<Begun, RecordError> {
        let begun = loop {
            if let Some(begun) = self.look(key, |table| drop(self.ended.wait(table)))? {
                break begun;
            }
        };
        match begun {
            Begun::Performs(mut performing) if intent => {
                performing.put(&Known::Intent)?;
                performing.intended = true;
                Ok(Begun::Performs(performing))
            }
            begun => Ok(begun),
        }
    }

    /// The same, and another thread waits for the disk. The future waits while another one performs it: both may be
    /// polled by the same thread.
    pub(super) async fn begin_async(self: &Arc<Self>, key: &EffectKey, intent: bool) -> Result<Begun, RecordError> {
        let begun = poll_fn(|context| {
            let wakes = |table: MutexGuard<'_, Table>| {
                self.wakers().push(context.waker().clone());
                drop(table);
            };
            self.look(key, wakes).transpose().map_or(Poll::Pending, Poll::Ready)
        });
        let begun = begun.await?;
        match begun {
            Begun::Performs(mut performing) if intent => {
                performing.put_async(&Known::Intent).await?;
                performing.intended = true;
                Ok(Begun::Performs(performing))
            }
            begun => Ok(begun),
        }
    }

    pub(super) fn forget_below<'n>(
        &self,
        numbers: impl IntoIterator<Item = (&'n str, u64)>,
    ) -> Result<(), JournalError> {
        let mut floors = HashMap::new();
        let mut table = self.table();
        for (effect, number) in numbers {
            if let Some(known) = table.get_mut(effect) {
                *known = known.split_off(&number);
                floors.insert(Arc::<str>::from(effect), number);
            }
        }
        drop(table);
        self.writer.get().map_or(Ok(()), |writer| writer.forget_below(&floors))
    }

    /// The last number of this effect that has an entry.
    pub(super) fn last(&self, effect: &str) -> Option<u64> {
        self.table().get(effect)?.keys().next_back().copied()
    }

    fn wakers(&self) -> MutexGuard<'_, Vec<Waker>> {
        self.wakers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn names(&self) -> MutexGuard<'_, HashSet<Arc<str>>> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn answers(&self) -> usize {
        let answered = |slot: &&Slot| matches!(slot, Slot::Known(Known::Answer(_)));
        self.table().values().map(|numbers| numbers.values().filter(answered).count()).sum()
    }
}

impl Performing {
    fn writer(&self) -> Result<&Writer, RecordError> {
        self.record.writer.get().ok_or_else(|| RecordError::NotRecorded(self.key.clone()))
    }

    fn put(&self, known: &Known) -> Result<(), RecordError> {
        let EffectKey { effect, number, .. } = &self.key;
        self.writer()?.put(known.write(effect, *number), effect, *number).map_err(RecordError::Lost)
    }

    async fn put_async(&self, known: &Known) -> Result<(), RecordError> {
        let EffectKey { effect, number, .. } = &self.key;
        let put = self.writer()?.put_async(known.write(effect, *number), effect, *number);
        put.await.map_err(RecordError::Lost)
    }

    /// Records the answer, or that there is none, and returns when that is durable.
    pub(super) fn end(mut self, answer: Option<Vec<u8>>) -> Result<(), RecordError> {
        let known = answer.map_or(Known::Unknown, Known::Answer);
        self.put(&known)?;
        self.settle(Some(known));
        Ok(())
    }

    /// The same, and another thread waits for the disk.
    pub(super) async fn end_async(mut self, answer: Option<Vec<u8>>) -> Result<(), RecordError> {
        let known = answer.map_or(Known::Unknown, Known::Answer);
        self.put_async(&known).await?;
        self.settle(Some(known));
        Ok(())
    }

    fn settle(&mut self, known: Option<Known>) {
        self.ended = true;
        let mut table = self.record.table();
        let numbers = table.entry(self.key.effect.clone()).or_default();
        match known {
            Some(known) => _ = numbers.insert(self.key.number, Slot::Known(known)),
            None => _ = numbers.remove(&self.key.number),
        }
        drop(table);
        self.record.ended.notify_all();
        let wakers = mem::take(&mut *self.record.wakers());
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// The call has panicked, or its answer could not be recorded: with an intent it is not known whether it had an effect.
impl Drop for Performing {
    fn drop(&mut self) {
        if !mem::replace(&mut self.ended, true) {
            let known = self.intended.then_some(Known::Intent);
            self.settle(known);
        }
    }
}
