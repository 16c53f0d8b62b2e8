//! Jobs that go on where they were, whatever ended the process.

mod at_end;
mod beginning;
mod by_number;
mod changed;
mod described;
mod error;
#[cfg(feature = "service")]
mod follower;
#[cfg(feature = "service")]
mod following;
#[cfg(feature = "service")]
mod following_run;
#[cfg(feature = "service")]
mod later;
mod offers;
mod on_storing;
mod replay;
mod running;
mod same_numbers;
#[cfg(feature = "service")]
mod serving;
mod settings;
mod side_sinks;
mod storer;
mod storing;
mod timer;
mod trimming;
mod unstored;
mod upgrading;

pub use error::JobError;
#[cfg(feature = "service")]
pub use follower::Follower;
#[cfg(feature = "service")]
pub use following::Following;
#[cfg(feature = "service")]
pub use following_run::FollowingRun;
pub use replay::{Replayed, Span, replay, replay_migrated};
pub use running::{Running, Stored};
pub use storer::Storer;
pub use storing::Cadence;
pub use upgrading::{JobUpgrader, Upgraded};

use crate::claims::{AllClaimed, AtMarks, Claimed, ClaimingSink, Claims, OfJob, OfRun, OutputOf, SourceFailed};
use crate::dead_letters::KeptLetters;
use crate::effects::Effects;
use crate::resumable::{Trail, Trailing};
use crate::{Resumable, Retention, StateDir};
use beginning::{Begins, numbers_of};
use changed::{Versions, resumed};
use described::Described;
use millstream_core::{Arrow, Item, Val};
use millstream_exec::{Durable, Feed, JobRefExt, Lasting, Rings, RunError, Runner};
use offers::Stores;
use on_storing::OnStoring;
use serde_json::{Value, json};
use std::sync::Arc;
use storing::{Records, Storing};

/// A runner whose jobs can be killed at any moment. Started again, a job goes on at a snapshot, and ends with the
/// output of an undisturbed run.
///
/// It runs jobs on [`Durable`] rings, takes snapshots while they run, and stores them in a [state directory](StateDir).
/// A snapshot has the states of all stages at a number, the position of the source there, and what the sink claimed to
/// hold. When the job starts again, it takes the newest snapshot whose claim the sink still holds: the sink goes back
/// to that claim, the source begins at its position, and every stage with its state. So each number's value is in the
/// sink's output once, whatever dies at any time. The stored state is as safe as synced files are in the file system.
///
/// At the end of the source one more snapshot is taken, before the stages learn of the end, and the job is over once it
/// is stored, unless snapshots are taken [on call](Cadence::OnCall). So a job that has read its files goes on behind
/// their last line when they have grown. What the stages yielded at the end is no part of it: the sink gives that up,
/// if it [goes back](ClaimingSink::goes_back), and gets what they yield at the next end. There is none at the end of a
/// job that fails or is stopped, or whose last value is not [whole](crate::Places::is_whole).
///
/// The stream does not pause: each stage clones its state, and a separate thread writes the clones. One snapshot is
/// stored at a time; if the next is taken before the last is stored, it waits, and later ones are left out. A snapshot
/// that cannot be stored (the disk is full) does not end the job, and older snapshots stay:
/// [`on_storing`](Persistent::on_storing) says so at once, and [`Running::join`] says at the end how many there were.
///
/// ```
/// use millstream::{io::{Block, FileSink}, prelude::*, state::{Cadence, Persistent, StateDir, TextFiles}};
///
/// fn counts() -> impl Pipeline<Block, String> + Lasting {
///     pipeline::<Block>()
///         .lines()
///         .scan(0_u64, |count, _| { *count += 1; *count })
///         .named("count")
///         .map(|count| format!("{count}\n"))
/// }
///
/// # let directory = tempfile::tempdir()?;
/// # std::env::set_current_dir(&directory)?;
/// std::fs::write("log", "a\nb\nc\n")?;
/// let run = |files: TextFiles| {
///     let state = StateDir::open("state", "counts")?;
///     let job = Persistent::new(Rings::new(), state).snapshot_every(Cadence::Numbers(1));
///     job.run(&counts(), files, FileSink::append("counts"))
/// };
/// run(TextFiles::new(["log"]).block_size(1))?;
/// std::fs::write("log", "a\nb\nc\nd\n")?;
/// // Goes on at the last snapshot, and not at the beginning.
/// run(TextFiles::new(["log"]).block_size(1))?;
/// assert_eq!(std::fs::read_to_string("counts")?, "1\n2\n3\n4\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Persistent {
    rings: Rings,
    dir: StateDir,
    cadence: Cadence,
    retention: Retention,
    job: Value,
    effects: Vec<Effects>,
    letters: Option<KeptLetters>,
    side_sinks: Vec<Arc<dyn OfJob>>,
    on_storing: OnStoring,
    redo: bool,
    versions: Versions,
}

impl Persistent {
    /// Runs jobs on rings with these options. By default it takes a snapshot every second, and keeps five.
    pub fn new(rings: Rings, dir: StateDir) -> Self {
        let retention = Retention { count: Some(5), ..Retention::default() };
        let (cadence, job, versions) = (Cadence::default(), Value::Null, Versions::default());
        let (effects, letters, side_sinks) = (Vec::new(), None, Vec::new());
        let (on_storing, redo) = (OnStoring::default(), false);
        Persistent { rings, dir, cadence, retention, job, effects, letters, side_sinks, on_storing, redo, versions }
    }

    /// Sets when snapshots are taken.
    #[must_use]
    pub fn snapshot_every(self, cadence: Cadence) -> Self {
        Persistent { cadence, ..self }
    }

    /// Sets which snapshots are kept. Snapshots that were taken since the last look at the sink are kept as well.
    ///
    /// If a journal of the job has its [most bytes](crate::journal::JournalOptions::max_bytes), the job takes a
    /// snapshot at once, and keeps only those that a start may need, whatever their number and age. With a retention
    /// that keeps all, all stay, and the source of a full journal ends.
    #[must_use]
    pub fn keep(self, retention: Retention) -> Self {
        Persistent { retention, ..self }
    }

    /// Forgets answers of effects that no kept snapshot needs. The numbers of an effect are those of the stage with its
    /// name, by [`named`](millstream_core::Arrow::named). If there is none, its answers are kept, and a source that
    /// does not [repeat](Resumable::repeats) its values is refused, unless every `map_blocking` and `map_async` has the
    /// name of an effect: it is then one of another version.
    #[must_use]
    pub fn recording(mut self, effects: &Effects) -> Self {
        self.effects.push(effects.clone());
        self
    }

    /// Keeps the newest snapshot before the first of these dead letters, while there are any. Pass the letters at every
    /// start.
    #[must_use]
    pub fn letters(self, letters: &KeptLetters) -> Self {
        Persistent { letters: Some(letters.clone()), ..self }
    }

    /// Begins before the first dead letter, if there is one, and processes all numbers from there again, with a version
    /// of the pipeline that should no longer fail there. The sink gives up the values since then, and the output is
    /// that of a run that never failed. Answers of effects come from their record. A value that fails again is a dead
    /// letter again.
    ///
    /// It is an error if a sink does not [go back](ClaimingSink::goes_back).
    #[must_use]
    pub fn redo(self) -> Self {
        Persistent { redo: true, ..self }
    }

    /// Starts the job, and waits for its end: see [`start`](Persistent::start) and [`Running::wait`].
    ///
    /// # Errors
    ///
    /// As both.
    pub fn run<T, P, X, K>(self, pipeline: &P, source: X, sink: K) -> Result<(OutputOf<P::Out, K>, Stored), JobError>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
    {
        self.start(pipeline, source, sink)?.wait()
    }

    /// Starts the job at the newest snapshot; from the beginning if the directory has none. Newer snapshots that it
    /// passes over, since a part is damaged or the sink holds less, are removed once the sinks are open.
    ///
    /// # Errors
    ///
    /// Before anything runs: if a sink or an effect keeps what it has by numbers that the source may give to other
    /// values ([`JobError::OtherNumbers`]), if the pipeline has no place for a stored state, if the sink holds less
    /// than it did at every snapshot, if the source cannot begin at its position, if the directory or a snapshot in it
    /// cannot be read, or was written by a later version of this crate, if the directory cannot be written; and as
    /// [`Runner::start`].
    pub fn start<T, P, X, K>(self, pipeline: &P, source: X, sink: K) -> Result<Running<OutputOf<P::Out, K>>, JobError>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
    {
        self.start_as(pipeline, source, sink, Arc::new(Stores::of_job()))
    }

    /// As [`start`](Persistent::start); or, to follow, without a change of the directory.
    fn start_as<T, P, X, K>(
        self,
        pipeline: &P,
        source: X,
        sink: K,
        stores: Arc<Stores>,
    ) -> Result<Running<OutputOf<P::Out, K>>, JobError>
    where
        T: Item,
        P: Lasting + Arrow<In = Val<T>>,
        X: Resumable<T>,
        K: ClaimingSink<P::Out>,
    {
        let (plan, follows) = (pipeline.plan(), !stores.are_stored());
        plan.check_durable().map_err(|error| JobError::Run(RunError::NotDurable(error)))?;
        self.check_side_sinks(&plan)?;
        let by_number = self.by_number(&sink, source.repeats());
        by_number.check(&plan)?;
        // A refused start leaves the sinks as they are.
        self.rings.check(&plan, Feed::source::<T, Trailing<T, X>>()).map_err(|error| JobError::Run(error.into()))?;
        let can_begin = |position: &Value| source.can_begin(position);
        let (mut opened, begins) = match self.resume::<P::Out, _>(&plan, &sink, &can_begin)? {
            Some(resumed) => resumed,
            None => (self.open_sinks(&sink, None).map_err(JobError::sink)?, Begins::default()),
        };
        let Begins { snapshot, at, position, id, changed, passed_over } = begins;
        if changed.is_some() && !follows {
            stores.wait_for_commit();
        }
        // The sink was not looked at since the first one.
        let confirmed = id.filter(|_| position.is_some() || snapshot.is_some());
        let numbers = snapshot.as_ref().map(numbers_of).unwrap_or_default();
        if let (true, Some(id)) = (self.redo || !passed_over.is_empty() && !follows, id) {
            // From here on the sink may soon hold as much as the newer snapshots claim, but not the same: they are of a
            // version that failed, or of what the sink has lost. Nothing would distinguish them from later ones.
            self.dir.discard_after(id)?;
        }
        if let Some(letters) = &self.letters {
            letters.begin(numbers.clone(), at).map_err(JobError::Letters)?;
        }
        let from = position.as_ref().map_or(0, |(number, _)| *number);
        source.expect(self.passed(&plan, &opened).saturating_sub(from));
        let trail = Trail::new(source.repeats());
        let values = Trailing::<T, X>::new(&source, position, at, trail.clone(), follows).map_err(JobError::Source)?;
        let id = match id {
            Some(id) => id,
            None => {
                let claim = opened.claim().map_err(JobError::Sink)?;
                let first = trail.at(0).and_then(|(number, mark)| Some((number, source.position(&mark).ok()?)));
                self.begin(&plan, claim, first)?
            }
        };
        let source = Arc::new(source);
        let passed = {
            let (source, trail) = (source.clone(), trail.clone());
            Box::new(move |at| trail.at(at).is_some_and(|(number, mark)| source.has_passed(&mark, at - number)))
        };
        let claimed = Claimed::default();
        let Persistent { mut rings, dir, cadence, retention, job, effects, letters, side_sinks, on_storing, .. } = self;
        if let Some(snapshot) = snapshot {
            rings = resumed(rings, snapshot, changed);
        }
        let is_whole = {
            let trail = trail.clone();
            Box::new(move |at| trail.is_whole(at))
        };
        let position = {
            let source = source.clone();
            Box::new(move |at| {
                let Some((number, mark)) = trail.at(at) else { return Ok(None) };
                Ok(Some(json!({ "number": number, "position": source.position(&mark)? })))
            })
        };
        let forget = {
            let source = source.clone();
            Box::new(move |oldest: &Value| source.forget(oldest))
        };
        let begins = Some((id, at, numbers));
        let records = Records { is_whole, position, forget, effects, letters, begins, on_storing };
        let of_side_sinks = side_sinks.iter().map(|sink| (sink.name().to_owned(), sink.claimed()));
        let claims = AllClaimed { sink: claimed.clone(), side_sinks: of_side_sinks.collect() };
        let plan = Described::new(&plan, job);
        let storing = Storing::start(dir, retention, confirmed, plan, claims, records, stores);
        let storing = storing.map_err(|error| JobError::Run(RunError::Spawn(error.to_string())))?;
        let source = running::Written::of::<T, _>(source);
        if cadence != Cadence::OnCall {
            let (store, source) = (storing.sender(), source.clone());
            rings = rings.snapshot_at_end(move |snapshot| {
                // The next start tries to read on there.
                if !source.has_failed() {
                    store.offer_before_end(snapshot);
                }
            });
        }
        if let Cadence::Numbers(numbers) = cadence {
            let store = storing.sender();
            rings = rings.snapshot_every(numbers.max(1), move |snapshot| store.offer(snapshot));
        }
        let source_failed: SourceFailed = {
            let source = source.clone();
            Arc::new(move || source.has_failed())
        };
        side_sinks.iter().for_each(|sink| sink.begin(source_failed.clone()));
        let into = AtMarks { sink: opened, given: 0, claimed, source_failed };
        let handle = Durable::new(rings).start(pipeline.from(values).to(into)).map_err(JobError::Run)?;
        let mut running = Running::new(handle, OfRun(side_sinks), storing, cadence, source, at, passed);
        (running.passed_over, running.by_number) = (passed_over, Arc::new(by_number));
        if follows { Ok(running) } else { running.timed() }
    }
}
