//! An application: its plan as a record, which all its programs read.

use crate::other_pipeline::OtherPipeline;
use crate::{Edges, Log, LogError, Options};
use serde::{Deserialize, Serialize};
use std::hash::{BuildHasher, RandomState};
use std::process;
use std::time::Duration;

/// The record's key.
const KEY: &str = "app";

/// The record of an application.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(flatten)]
    app: App,
    /// Drawn when the application is made: by it, a worker knows one that was removed from another one of its name.
    /// Records of earlier versions have none.
    #[serde(default)]
    id: u64,
}

/// An application: one segment between an ingress edge and an output edge, and how many copies of it run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct App {
    /// The program's name, as its workers know it.
    pub program: String,
    /// Its stages, each with its kind, its state's type and version, and the most keys of a state by key: they
    /// distinguish this pipeline from another one. Closures are not among them.
    pub stages: Vec<String>,
    /// How many workers compute everything, one of which appends.
    pub replicas: u32,
    /// How many servers keep each entry.
    pub copies: usize,
    /// How many batches an edge holds.
    pub capacity: u32,
    /// The number of batches between two snapshots.
    pub snapshot_every: u64,
}

/// What [`App::apply`] did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// The application was made.
    Made,
    /// Its numbers have changed.
    Changed,
    /// It was there, with the same numbers.
    Same,
}

/// Why a plan is not applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// Another pipeline has that name.
    #[error(transparent)]
    Other(#[from] OtherPipeline),
    /// The log does not answer, or another process applies a plan at the same time.
    #[error(transparent)]
    Log(#[from] LogError),
}

impl App {
    /// The edge that it reads.
    pub const INPUT: &str = "in";
    /// The edge to which it appends.
    pub const OUTPUT: &str = "out";

    /// The names of its edges.
    #[must_use]
    pub fn edges() -> Vec<String> {
        vec![Self::INPUT.to_owned(), Self::OUTPUT.to_owned()]
    }

    /// The application of a log, if there is one.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or the record is another format's.
    pub fn read<L: Log>(log: &L) -> Result<Option<App>, LogError> {
        Ok(Self::with_id(log)?.map(|(app, _)| app))
    }

    /// The application of a log, and its id.
    pub(crate) fn with_id<L: Log>(log: &L) -> Result<Option<(App, u64)>, LogError> {
        Ok(record(log)?.map(|(Kept { app, id }, _)| (app, id)))
    }

    /// Makes the application, or sets its numbers to these. Its pipeline cannot be changed.
    ///
    /// # Errors
    ///
    /// If another pipeline has its name.
    pub fn apply<L: Log>(&self, log: &L) -> Result<Applied, ApplyError> {
        self.put(log, |app| app.check(&self.program, &self.stages))
    }

    /// As [`apply`](App::apply), and sets its pipeline to this one, which computes the same by other stages or types.
    /// What cannot go on is refused later: a worker whose program does not fit the newest snapshot, or that computes
    /// another output than the edge has.
    ///
    /// # Errors
    ///
    /// If the log does not answer, or another process applies a plan at the same time.
    pub fn replace<L: Log>(&self, log: &L) -> Result<Applied, ApplyError> {
        self.put(log, |_| Ok(()))
    }

    fn put<L: Log>(&self, log: &L, check: impl Fn(&App) -> Result<(), OtherPipeline>) -> Result<Applied, ApplyError> {
        let (id, revision, applied) = match record(log)? {
            None => (RandomState::new().hash_one(process::id()), 0, Applied::Made),
            Some((Kept { app, .. }, _)) if app == *self => return Ok(Applied::Same),
            Some((Kept { app, id }, revision)) => {
                check(&app)?;
                (id, revision, Applied::Changed)
            }
        };
        let kept = Kept { app: self.clone(), id };
        let value = serde_json::to_vec(&kept).map_err(|error| LogError::Refused(error.to_string()))?;
        log.compare_and_set(KEY, revision, &value)?;
        Ok(applied)
    }

    /// Whether this program's pipeline is the application's.
    ///
    /// # Errors
    ///
    /// If it is not; the error says what differs.
    pub fn check(&self, program: &str, stages: &[String]) -> Result<(), OtherPipeline> {
        if self.program != program {
            return Err(OtherPipeline(format!("its program is {:?}, and this one is {program:?}", self.program)));
        }
        let mut pairs =
            (0..self.stages.len().max(stages.len())).map(|place| (self.stages.get(place), stages.get(place)));
        let named = |stage: Option<&String>| stage.map_or("none".to_owned(), |stage| format!("{stage:?}"));
        match pairs.find(|(theirs, ours)| theirs != ours) {
            None => Ok(()),
            Some((theirs, ours)) => {
                Err(OtherPipeline(format!("its stage is {}, where this program has {}", named(theirs), named(ours))))
            }
        }
    }

    pub(crate) fn between() -> Edges {
        Edges { input: Self::INPUT.to_owned(), output: Self::OUTPUT.to_owned() }
    }

    /// The options of its replica of this rank: each further rank goes on a fifth of a second after the last append.
    pub(crate) fn options(&self, rank: u32) -> Options {
        let pace = Duration::from_millis(10);
        Options { rank, patience: 20, pace, snapshot_every: self.snapshot_every, window: 64, ..Options::default() }
    }
}

/// The record, and its revision.
fn record<L: Log>(log: &L) -> Result<Option<(Kept, u64)>, LogError> {
    let Some(record) = log.get(KEY)? else { return Ok(None) };
    let kept = serde_json::from_slice(&record.value);
    let kept = kept.map_err(|error| LogError::Refused(format!("the record {KEY:?} has another format: {error}")))?;
    Ok(Some((kept, record.revision)))
}
