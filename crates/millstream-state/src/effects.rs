//! Effects: calls to the outside whose answers are recorded by number, and read back when a job goes on.
//!
//! The answer of a server, a clock or a random source is not a function of the input. A job that goes on at a snapshot
//! processes some numbers again: at those it takes the answers from the record, and makes no calls.
//!
//! No record can make a call happen exactly once. The process can die between the answer and its record, and then it is
//! not known whether the call had an effect. So there are two promises, between which [`Unknown`] chooses:
//!
//! - **at least once, with a stable key**: [`Unknown::retry`] calls again, with the same [`EffectKey`], by which the
//!   other side can tell that it is the same call;
//! - **at most once, or reported**: an intent is durable before the call. After a crash, an intent without an answer is
//!   *unknown*: [`Unknown::ask`] asks the other side by the key; [`Unknown::fail`] returns [`OutcomeUnknown`], which
//!   goes where failures of the pipeline go, with its number.
//!
//! A value leaves its stage when its answer is durable, as far as [`Fsync`](crate::journal::Fsync) says; so no later
//! stage, sink or effect sees an answer that a crash can take back. Effects that are under way at the same time share a
//! sync. Only one process at a time makes calls: the one that may write to the state directory. A run that only reads
//! ([`replay`](crate::replay())) uses recorded answers, and fails at a number that has none; one that
//! [follows](Effects::follow) another process waits for it.
//!
//! A record has at most [`max_bytes`](JournalOptions::max_bytes). When three quarters of them are taken, the job takes
//! a snapshot, so that it can forget answers. The last ones of an effect that the program no longer has stay, for a
//! version that has it again. If such answers are in front of those that can be removed, the record writes what stays
//! once more, and has both for a moment. An effect that finds no room for ten seconds fails the run, and says what
//! to do.

mod entry;
#[cfg_attr(not(feature = "service"), expect(dead_code, reason = "services follow"))]
mod following;
mod key;
mod record;
mod writer;

pub use key::{EffectKey, OutcomeUnknown, Unknown};

use crate::StateDir;
use crate::journal::{JournalError, JournalOptions};
use entry::{read_answer, write_answer};
use millstream_core::failure::fail;
use millstream_core::{Item, SequenceNumber};
use record::{Begun, Record};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

/// A future of an effect's answer.
pub type EffectFuture<B> = Pin<Box<dyn Future<Output = Result<B, OutcomeUnknown>> + Send>>;

/// The record of a job's effects, in its state directory. Clones are the same record.
///
/// ```
/// use millstream::io::FileSink;
/// use millstream::prelude::*;
/// use millstream::state::effects::{Effects, Unknown};
/// use millstream::state::{Cadence, Persistent, StateDir, again};
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// static CALLS: AtomicU64 = AtomicU64::new(0);
///
/// fn charge(key: &str, amount: u64) -> u64 {
///     CALLS.fetch_add(1, Ordering::Relaxed);
///     amount + key.len() as u64 // what the bank answers
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// let run = || -> Result<(), Box<dyn std::error::Error>> {
///     let state = StateDir::open("state", "orders")?;
///     let (effects, _) = Effects::open(&state, Default::default())?;
///     let charge = effects.recorded("charge", Unknown::retry(), |key, amount: &u64| {
///         charge(&key.to_string(), *amount)
///     });
///     let orders = pipeline::<u64>()
///         .enumerate()
///         .map_blocking(charge)
///         .named("charge")
///         .try_map(|charged| charged.clone())
///         .map(|charged| format!("{charged}\n"));
///     let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::OnCall).recording(&effects);
///     job.run(&orders, again(|| [10, 20, 30].into_iter()), FileSink::append("charged"))?;
///     Ok(())
/// };
/// run()?;
/// run()?; // At the beginning again, since no snapshot was taken: but nothing is charged twice.
/// assert_eq!(CALLS.load(Ordering::Relaxed), 3);
/// assert_eq!(std::fs::read_to_string("charged")?, "25\n35\n45\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Effects {
    record: Arc<Record>,
}

impl Effects {
    /// Opens the record of a state directory, and reads all of it. If the directory was opened only to be
    /// [read](StateDir::read), no calls are made. Otherwise the text says, in a sentence, what was found in the record.
    ///
    /// The answers of all numbers since the oldest snapshot are kept in memory.
    ///
    /// # Errors
    ///
    /// As [`Journal::open`](crate::journal::Journal::open); or if it has an invalid entry.
    pub fn open(state: &StateDir, options: JournalOptions) -> Result<(Effects, Option<String>), JournalError> {
        let (record, recovered) = Record::open(state, options)?;
        Ok((Effects { record: Arc::new(record) }, recovered))
    }

    /// The record of the process that has this directory, which was opened to be [read](StateDir::read), for a job that
    /// [follows](crate::Persistent::follow) it. Answers are read as they become durable, and a stage waits for those
    /// that are not there yet: only the other process makes calls. When this process takes over, it makes those that
    /// have no answer. If one has an intent then, and no answer, [`Unknown`] decides, as after a crash.
    ///
    /// If the other process has removed answers before they were read, the follower
    /// [is left behind](crate::JobError::is_left_behind): follow again, with another record, at the newer snapshot.
    ///
    /// The last commit of a record is not known to be durable before the next one, or a snapshot; until then the
    /// follower may not catch up with a process that is idle.
    ///
    /// # Errors
    ///
    /// As [`open`](Effects::open).
    pub fn follow(state: &StateDir, options: JournalOptions) -> Result<Effects, JournalError> {
        Ok(Effects { record: Arc::new(Record::follow(state, options)?) })
    }

    #[cfg(feature = "service")]
    pub(crate) fn follows(&self) -> bool {
        self.record.waits()
    }

    /// Called before a follower chooses the snapshot that it begins with.
    #[cfg(feature = "service")]
    pub(crate) fn begin_behind(&self) -> Result<(), JournalError> {
        self.record.begin_behind()
    }

    /// Why a follower cannot read the record any more.
    #[cfg(feature = "service")]
    pub(crate) fn take_lost(&self) -> Option<JournalError> {
        self.record.take_lost()
    }

    #[cfg(feature = "service")]
    pub(crate) fn own(&self, dir: &StateDir) -> Result<(), JournalError> {
        self.record.own(dir)
    }

    #[cfg(feature = "service")]
    pub(crate) fn over(&self) {
        self.record.over();
    }

    /// Whether there is an effect of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.record.names().contains(name)
    }

    /// The names of its effects.
    pub(crate) fn names(&self) -> Vec<Arc<str>> {
        self.record.names().iter().cloned().collect()
    }

    /// The last number of this effect that has an answer, or an intent.
    pub(crate) fn last(&self, name: &str) -> Option<u64> {
        self.record.last(name)
    }

    /// Says in the record that all of it is durable, for a process that follows.
    pub(crate) fn mark(&self) -> Result<(), JournalError> {
        self.record.writer.get().map_or(Ok(()), writer::Writer::mark)
    }

    /// An effect for [`map_blocking`](millstream_core::Arrow::map_blocking) after
    /// [`enumerate`](millstream_core::StreamsExt::enumerate). `name` names it in the record and in its keys, and must
    /// stay the same in later versions of the program; each effect of a job has its own. At a number that the record
    /// has, `f` is not called. The answer is written by postcard.
    ///
    /// If an answer cannot be recorded, the run fails: after a failed sync nothing more is acknowledged.
    pub fn recorded<A: Item, B, F>(
        &self,
        name: &str,
        unknown: Unknown<B>,
        f: F,
    ) -> impl Fn((&SequenceNumber, &A)) -> Result<B, OutcomeUnknown> + Clone + Send + Sync + 'static + use<A, B, F>
    where
        B: Item + Serialize + DeserializeOwned,
        F: Fn(&EffectKey, &A) -> B + Send + Sync + 'static,
    {
        let (record, job, name, f) = (self.record.clone(), self.record.job(), Arc::<str>::from(name), Arc::new(f));
        record.names().insert(name.clone());
        move |(number, value)| {
            let key = EffectKey { job: job.clone(), effect: name.clone(), number: number.0 };
            let (performing, settled) = match record.begin(&key, unknown.has_intent()).unwrap_or_else(refused) {
                Begun::Answered(answer) => return answered(&key, &answer),
                Begun::Unknown => return Err(OutcomeUnknown { key }),
                Begun::Performs(performing) => (performing, Some(None)),
                Begun::Intended(performing) => (performing, unknown.settle(&key)),
            };
            let Some(known) = settled else {
                performing.end(None).unwrap_or_else(refused);
                return Err(OutcomeUnknown { key });
            };
            let answer = known.unwrap_or_else(|| f(&key, value));
            performing.end(Some(write_answer(&key, &answer))).unwrap_or_else(refused);
            Ok(answer)
        }
    }

    /// As [`recorded`](Effects::recorded), for [`map_async`](millstream_core::AsyncExt::map_async). `f` gets a clone of
    /// the value. A thread of the record waits for the disk, and while another stage makes the call of this number, as
    /// one of a shadow, the future waits. The thread that polls is held by [`Unknown::ask`], and, in a run that
    /// [follows](Effects::follow), until the other process has the answer: if that takes long, take
    /// [`recorded`](Effects::recorded), or more workers.
    pub fn recorded_async<A: Item + Clone, B, F, Fut>(
        &self,
        name: &str,
        unknown: Unknown<B>,
        f: F,
    ) -> impl Fn((&SequenceNumber, &A)) -> EffectFuture<B> + Clone + Send + Sync + 'static + use<A, B, F, Fut>
    where
        B: Item + Serialize + DeserializeOwned,
        F: Fn(EffectKey, A) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = B> + Send + 'static,
    {
        let (record, job, name, f) = (self.record.clone(), self.record.job(), Arc::<str>::from(name), Arc::new(f));
        record.names().insert(name.clone());
        move |(number, value)| {
            let key = EffectKey { job: job.clone(), effect: name.clone(), number: number.0 };
            let (record, unknown, f, value) = (record.clone(), unknown.clone(), f.clone(), value.clone());
            Box::pin(async move {
                let begun = record.begin_async(&key, unknown.has_intent()).await.unwrap_or_else(refused);
                let (performing, settled) = match begun {
                    Begun::Answered(answer) => return answered(&key, &answer),
                    Begun::Unknown => return Err(OutcomeUnknown { key }),
                    Begun::Performs(performing) => (performing, Some(None)),
                    Begun::Intended(performing) => (performing, unknown.settle(&key)),
                };
                let answer = match settled {
                    Some(Some(answer)) => answer,
                    Some(None) => f(key.clone(), value).await,
                    None => {
                        performing.end_async(None).await.unwrap_or_else(refused);
                        return Err(OutcomeUnknown { key });
                    }
                };
                let bytes = write_answer(&key, &answer);
                performing.end_async(Some(bytes)).await.unwrap_or_else(refused);
                Ok(answer)
            })
        }
    }

    /// Forgets the answers of effects below these numbers, since no run begins before them any more. Their bytes on the
    /// disk can then be removed.
    ///
    /// # Errors
    ///
    /// As [`Journal::trim_below`](crate::journal::Journal::trim_below).
    pub fn forget_below<'n>(&self, numbers: impl IntoIterator<Item = (&'n str, u64)>) -> Result<(), JournalError> {
        self.record.forget_below(numbers)
    }

    /// How many answers are in memory.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.record.answers()
    }
}

fn answered<B: DeserializeOwned>(key: &EffectKey, answer: &[u8]) -> Result<B, OutcomeUnknown> {
    Ok(read_answer(answer).unwrap_or_else(|why| fail(format!("the recorded answer to {key} cannot be read: {why}"))))
}

/// Ends the run.
fn refused<R>(error: record::RecordError) -> R {
    fail(error)
}

impl fmt::Debug for Effects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effects").field("answers", &self.answers()).finish_non_exhaustive()
    }
}
