//! The states of a run at a number, and runs that begin with them.

#[cfg(feature = "durable")]
mod increments;
#[cfg(feature = "durable")]
mod parts;
#[cfg(feature = "durable")]
mod written;

#[cfg(feature = "durable")]
pub use increments::{SnapshotParts, StoredParts};
#[cfg(feature = "durable")]
pub use written::CorruptSnapshot;

use crate::keeper::Keeper;
use crate::kept::Kept;
use crate::marks::Retired;
use crate::migrations::ChangedSnapshot;
use millstream_core::SequenceNumber;
use millstream_core::failure::{caught, discard, message};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use std::{any, fmt};

/// The states of a run's stages after every number below [`at`](Snapshot::at), and before the next.
///
/// It is in memory, as clones of the states, which clones of the snapshot share; on `Durable` rings it can be written
/// as bytes as well. A run that [begins with it](crate::Rings::resume) continues the numbers: given the source's values
/// from `at` on, it has exactly the slots that the first run had from there.
#[derive(Clone)]
pub struct Snapshot(Arc<States>);

struct States {
    /// The id of its mark; 0 if it was read from bytes.
    mark: u64,
    at: SequenceNumber,
    output: Option<SequenceNumber>,
    /// The number of each stage, in pipeline order.
    numbers: Vec<(String, SequenceNumber)>,
    /// The states by the stage's name; a keyed stage has one for each lane.
    stages: BTreeMap<String, Vec<Kept>>,
    /// The longest time for which a stage stopped to leave its state here.
    stop: Duration,
}

/// The states of each stage, by the stage's name.
fn by_stage(states: Vec<(String, Kept)>) -> BTreeMap<String, Vec<Kept>> {
    let mut stages = BTreeMap::<String, Vec<Kept>>::new();
    for (name, state) in states {
        stages.entry(name).or_default().push(state);
    }
    stages
}

impl Snapshot {
    /// A snapshot of the tasklets in pipeline order: their stages' names, numbers and states.
    pub(crate) fn new(
        mark: u64,
        (at, output): (SequenceNumber, Option<SequenceNumber>),
        passed: impl Iterator<Item = (String, SequenceNumber, Option<Kept>)>,
        stop: Duration,
    ) -> Self {
        let (mut numbers, mut states) = (Vec::new(), Vec::new());
        for (name, at, state) in passed {
            states.extend(state.map(|state| (name.clone(), state)));
            numbers.push((name, at));
        }
        Snapshot(Arc::new(States { mark, at, output, numbers, stages: by_stage(states), stop }))
    }

    /// A snapshot of the states that a run's stages have left at a mark.
    pub(crate) fn left(Retired { mark, at, output, states, numbers, stop, .. }: Retired) -> Self {
        Snapshot(Arc::new(States { mark, at, output, numbers, stages: by_stage(states), stop }))
    }

    /// The number of the source's next value.
    #[must_use]
    pub fn at(&self) -> SequenceNumber {
        self.0.at
    }

    /// The number that the sink gets next. It differs from [`at`](Snapshot::at) if a stage renumbers. `None` if the run
    /// has no sink.
    #[must_use]
    pub fn output_at(&self) -> Option<SequenceNumber> {
        self.0.output
    }

    /// For each tasklet, in pipeline order: the name of its stage, and the number that it takes next, on the clock of
    /// its input. A stage in a `shard` has several tasklets, and each has an entry.
    pub fn numbers(&self) -> impl Iterator<Item = (&str, SequenceNumber)> {
        self.0.numbers.iter().map(|(name, at)| (&**name, *at))
    }

    /// The place of its mark among those of its run: of two snapshots of a run, even at one number, the later one has
    /// the greater mark. 0 if the snapshot was read from bytes.
    #[must_use]
    pub fn mark(&self) -> u64 {
        self.0.mark
    }

    /// The longest time for which a stage stopped at the mark, to leave its state in the snapshot; the stream pauses no
    /// longer than that. Zero if the snapshot was read from bytes.
    #[must_use]
    pub fn longest_stop(&self) -> Duration {
        self.0.stop
    }

    /// The next number of a stage that starts a clock.
    pub(crate) fn clock(&self, stage: &str) -> Option<SequenceNumber> {
        self.0.stages.get(stage)?.iter().find_map(Kept::next)
    }

    /// The kept states of each lane of the stages with a state, which these clones share.
    pub(crate) fn kept(&self) -> impl Iterator<Item = (&str, &[Kept])> {
        self.0.stages.iter().map(|(stage, lanes)| (&**stage, &lanes[..]))
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

impl SnapshotMismatch {
    pub(crate) fn new(stage: &str, why: String) -> Self {
        SnapshotMismatch { stage: stage.to_owned(), why }
    }

    /// The clone of this stage's state panicked.
    pub(crate) fn not_cloned(stage: &str, payload: Box<dyn any::Any + Send>) -> Self {
        let why = format!("has a state that cannot be cloned: {}", message(payload.as_ref()));
        discard(payload);
        SnapshotMismatch { stage: stage.to_owned(), why }
    }
}

impl fmt::Display for SnapshotMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SnapshotMismatch { stage, why } = self;
        write!(f, "the snapshot does not fit the pipeline: stage {stage:?} {why}")
    }
}

impl std::error::Error for SnapshotMismatch {}

pub(crate) fn unreadable(payload: Box<dyn any::Any + Send>) -> String {
    let why = format!("has a state that cannot be read: {}", message(payload.as_ref()));
    discard(payload);
    why
}

/// The states with which a run begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    With(Snapshot),
    Changed(ChangedSnapshot),
}

impl Start {
    /// The number of the source's next value.
    pub(crate) fn at(&self) -> SequenceNumber {
        match self {
            Start::With(snapshot) => snapshot.at(),
            Start::Changed(changed) => changed.snapshot().at(),
        }
    }
}

/// The states with which a run begins, while it is wired.
pub(crate) enum Beginning {
    /// Clones of those of a snapshot.
    With(Restoring),
    /// Fresh ones: the running version hands its states over when the new one is wired. Its stages that start a clock
    /// go on with their next numbers.
    Clocks(BTreeMap<String, SequenceNumber>),
    /// Fresh ones, until those of a snapshot of another version are handed over.
    Changed(ChangedSnapshot),
}

impl Beginning {
    pub(crate) fn new(start: Start) -> Self {
        match start {
            Start::With(snapshot) => Beginning::With(Restoring { snapshot, given: Vec::new(), mismatch: None }),
            Start::Changed(changed) => Beginning::Changed(changed),
        }
    }

    /// The states of a stage, or `start` if they are not there or do not fit.
    pub(crate) fn states_or<S>(&mut self, stage: &str, start: Vec<S>, keeper: Keeper<S>) -> Vec<S> {
        match self {
            Beginning::With(restoring) => restoring.states_or(stage, start, keeper),
            Beginning::Clocks(_) | Beginning::Changed(_) => start,
        }
    }

    /// The next number of a stage that starts a clock, and its state; `input` and `start` if they are not there or do
    /// not fit.
    pub(crate) fn clock_or<S>(
        &mut self,
        stage: &str,
        input: SequenceNumber,
        start: S,
        keeper: Keeper<S>,
    ) -> (SequenceNumber, S) {
        match self {
            Beginning::With(restoring) => restoring.clock_or(stage, input, start, keeper),
            Beginning::Clocks(clocks) => (clocks.get(stage).copied().unwrap_or(input), start),
            Beginning::Changed(changed) => (changed.snapshot().clock(stage).unwrap_or(input), start),
        }
    }

    /// Fails with the first mismatch; a state that no stage takes is one. Returns the snapshot whose states must still
    /// be handed over.
    pub(crate) fn finish(self) -> Result<Option<ChangedSnapshot>, SnapshotMismatch> {
        match self {
            Beginning::With(restoring) => restoring.check().map(|()| None),
            Beginning::Clocks(_) => Ok(None),
            Beginning::Changed(changed) => Ok(Some(changed)),
        }
    }
}

/// A snapshot, while the stages that begin with its states are wired.
pub(crate) struct Restoring {
    snapshot: Snapshot,
    /// The stages that have got theirs.
    given: Vec<String>,
    mismatch: Option<SnapshotMismatch>,
}

impl Restoring {
    fn states_or<S>(&mut self, stage: &str, start: Vec<S>, keeper: Keeper<S>) -> Vec<S> {
        if !keeper.keeps() {
            return start;
        }
        let load = |kept: Vec<Kept>| {
            if kept.iter().any(|kept| kept.next().is_some()) {
                return Err("keeps the numbers of its input, and started a new clock in the snapshot".to_owned());
            }
            kept.into_iter().zip(&start).map(|(kept, start)| keeper.load(kept, start)).collect()
        };
        self.loaded(stage, start.len(), load).unwrap_or(start)
    }

    fn clock_or<S>(&mut self, stage: &str, input: SequenceNumber, start: S, keeper: Keeper<S>) -> (SequenceNumber, S) {
        let load = |kept: Vec<Kept>| {
            let kept = kept.into_iter().next().ok_or("has no lane")?;
            let next = kept.next().ok_or("starts a new clock, and kept the numbers of its input in the snapshot")?;
            match kept.type_name() {
                Some(name) if !keeper.keeps() => Err(format!("has no state, and the snapshot has a {name} for it")),
                _ if !keeper.keeps() => Ok((next, None)),
                _ => Ok((next, Some(keeper.load(kept, &start)?))),
            }
        };
        match self.loaded(stage, 1, load) {
            Some((next, state)) => (next, state.unwrap_or(start)),
            None => (input, start),
        }
    }

    /// The loaded state of a stage in the snapshot; `None` if it cannot be loaded, which is a mismatch.
    fn loaded<R>(&mut self, stage: &str, lanes: usize, load: impl FnOnce(Vec<Kept>) -> Result<R, String>) -> Option<R> {
        let mismatch = |why| SnapshotMismatch { stage: stage.to_owned(), why };
        // Reading a written state runs the user's code.
        let load = |kept| caught(|| load(kept)).unwrap_or_else(|payload| Err(unreadable(payload)));
        let loaded = self.kept(stage, lanes).and_then(|kept| load(kept).map_err(mismatch));
        match loaded {
            Ok(loaded) => {
                self.given.push(stage.to_owned());
                Some(loaded)
            }
            Err(mismatch) => {
                self.mismatch.get_or_insert(mismatch);
                None
            }
        }
    }

    /// The kept states of each lane of a stage in the snapshot.
    fn kept(&self, stage: &str, lanes: usize) -> Result<Vec<Kept>, SnapshotMismatch> {
        let mismatch = |why| SnapshotMismatch { stage: stage.to_owned(), why };
        let kept = self.snapshot.0.stages.get(stage);
        let kept = kept.ok_or_else(|| mismatch("has a state, and the snapshot has none for it".to_owned()))?;
        if kept.len() != lanes {
            return Err(mismatch(format!("has {lanes} lanes, and the snapshot has its state in {}", kept.len())));
        }
        caught(|| kept.clone()).map_err(|payload| SnapshotMismatch::not_cloned(stage, payload))
    }

    fn check(self) -> Result<(), SnapshotMismatch> {
        if let Some(mismatch) = self.mismatch {
            return Err(mismatch);
        }
        match self.snapshot.stages().find(|stage| !self.given.iter().any(|given| given == stage)) {
            None => Ok(()),
            Some(stage) => {
                let why = "has a state in the snapshot, and the pipeline has no such stage with a state".to_owned();
                Err(SnapshotMismatch { stage: stage.to_owned(), why })
            }
        }
    }
}
