//! The states of a run at a number, and runs that begin with them.

use crate::kept::Kept;
use millstream_core::failure::{caught, discard, message};
use millstream_core::{Item, SequenceNumber};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::{any, fmt};

/// The states of a run's stages when every number below [`at`](Snapshot::at) had passed them, and no further one.
///
/// It is held in memory, as clones of the states; a clone of the snapshot shares them. A run that
/// [begins with it](crate::Rings::resume) continues the numbers: given the source's values from `at` on, it has exactly
/// the slots that the first run had from there.
#[derive(Clone)]
pub struct Snapshot(Arc<States>);

struct States {
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    /// In pipeline order.
    numbers: Vec<(String, SequenceNumber)>,
    /// By the stage's name; of keyed stages one for each lane.
    stages: BTreeMap<String, Vec<Kept>>,
}

impl Snapshot {
    /// Of the tasklets in pipeline order: their stages' names, numbers and states.
    pub(crate) fn new(
        at: SequenceNumber,
        output: Option<SequenceNumber>,
        passed: impl Iterator<Item = (String, SequenceNumber, Option<Kept>)>,
    ) -> Self {
        let (mut numbers, mut stages) = (Vec::new(), BTreeMap::<String, Vec<Kept>>::new());
        for (name, at, state) in passed {
            if let Some(state) = state {
                stages.entry(name.clone()).or_default().push(state);
            }
            numbers.push((name, at));
        }
        Snapshot(Arc::new(States { at, output, numbers, stages }))
    }

    /// The number of the source's next value.
    #[must_use]
    pub fn at(&self) -> SequenceNumber {
        self.0.at
    }

    /// The number that the sink gets next: another one than [`at`](Snapshot::at) after a stage that renumbers. None if
    /// the run has no sink.
    #[must_use]
    pub fn output_at(&self) -> Option<SequenceNumber> {
        self.0.output
    }

    /// Checks that the sink gets the numbers of an output that begins there without a gap.
    pub(crate) fn check_output(&self, begins: SequenceNumber) -> Result<(), SnapshotMismatch> {
        match self.output_at() {
            Some(next) if next != begins => {
                let why = format!("gets number {next} next, and the output of the new pipeline begins at {begins}");
                Err(SnapshotMismatch { stage: "sink".to_owned(), why })
            }
            _ => Ok(()),
        }
    }

    /// The number, on the clock of its input, that each tasklet takes next, in pipeline order; the stage's name comes
    /// with it. A stage in a `shard` has several tasklets, and each is here.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, SequenceNumber)> {
        self.0.numbers.iter().map(|(name, at)| (&**name, *at))
    }

    /// The names of the stages with a state, in order.
    pub fn stages(&self) -> impl Iterator<Item = &str> {
        self.0.stages.keys().map(String::as_str)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot").field("at", &self.at()).field("stages", &self.0.stages).finish_non_exhaustive()
    }
}

/// Two are equal if they are clones of one.
impl PartialEq for Snapshot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Snapshot {}

/// Why a run cannot begin with a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SnapshotMismatch {
    /// The stage whose state does not fit.
    pub stage: String,
    why: String,
}

impl fmt::Display for SnapshotMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SnapshotMismatch { stage, why } = self;
        write!(f, "the snapshot does not fit the pipeline: stage {stage:?} {why}")
    }
}

impl std::error::Error for SnapshotMismatch {}

/// The states with which a run begins, while it is wired.
pub(crate) struct Beginning {
    snapshot: Snapshot,
    /// The stages that have got theirs.
    given: Vec<String>,
    mismatch: Option<SnapshotMismatch>,
}

impl Beginning {
    pub(crate) fn new(snapshot: Snapshot) -> Self {
        Beginning { snapshot, given: Vec::new(), mismatch: None }
    }

    /// The states of a stage, or `start` if they are not there or do not fit. A stage without a state has those of type
    /// `()`.
    pub(crate) fn states_or<S: Item + Clone>(&mut self, stage: &str, start: Vec<S>) -> Vec<S> {
        if any::TypeId::of::<S>() == any::TypeId::of::<()>() {
            return start;
        }
        match self.states(stage, start.len()) {
            Ok(states) => {
                self.given.push(stage.to_owned());
                states
            }
            Err(why) => {
                self.mismatch.get_or_insert(SnapshotMismatch { stage: stage.to_owned(), why });
                start
            }
        }
    }

    fn states<S: Item + Clone>(&self, stage: &str, expected: usize) -> Result<Vec<S>, String> {
        let kept = self.snapshot.0.stages.get(stage).ok_or("has a state, and the snapshot has none for it")?;
        if kept.len() != expected {
            return Err(format!("has {expected} lanes, and the snapshot has its state in {}", kept.len()));
        }
        let other =
            |name| format!("has a state of type {}, and the snapshot has a {name} for it", any::type_name::<S>());
        let state = |state: &Kept| match caught(|| state.clone()) {
            Ok(state) => state.get().map_err(other),
            Err(payload) => {
                let why = message(payload.as_ref());
                discard(payload);
                Err(format!("has a state that cannot be cloned: {why}"))
            }
        };
        kept.iter().map(state).collect()
    }

    /// The first mismatch; a state that no stage takes is one.
    pub(crate) fn check(self) -> Result<(), SnapshotMismatch> {
        if let Some(mismatch) = self.mismatch {
            return Err(mismatch);
        }
        match self.snapshot.stages().find(|stage| !self.given.iter().any(|given| given == stage)) {
            None => Ok(()),
            Some(stage) => {
                let why = "has its state in the snapshot, and the pipeline has no such stage with a state".to_owned();
                Err(SnapshotMismatch { stage: stage.to_owned(), why })
            }
        }
    }
}
