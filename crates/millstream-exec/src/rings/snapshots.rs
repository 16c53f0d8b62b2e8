//! Snapshots of a run, and the one that it begins with.

use super::Rings;
use crate::Migrations;
use crate::marks::{AtEnd, Every};
use crate::migrations::ChangedSnapshot;
use crate::snapshot::{Snapshot, Start};
use millstream_core::Plan;
use std::sync::Arc;

impl Rings {
    /// Takes a snapshot each time that the run has taken at least `numbers` more numbers from the source, and calls
    /// `take` with it, on one of the run's threads. Only one snapshot is under way at a time, so there may be fewer.
    /// The stream does not pause; each stage clones its state. [`Handle::snapshot`](crate::Handle::snapshot) takes one
    /// when asked.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::{Arc, Mutex};
    /// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
    /// let last: Arc<Mutex<Option<Snapshot>>> = Arc::default();
    /// let kept = last.clone();
    /// let rings = Rings::new().batch(10).snapshot_every(20, move |snapshot| *kept.lock().unwrap() = Some(snapshot));
    /// let all = rings.collect((&sums).from(source::ready(0..100)))?;
    /// let snapshot = last.lock().unwrap().take().expect("there is more than one batch");
    /// // The rest again, from the snapshot on.
    /// let SequenceNumber(at) = snapshot.at();
    /// let rest = Rings::new().resume(snapshot).collect(sums.from(source::ready(at..100)))?;
    /// assert_eq!(rest, all[at as usize..]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If `numbers` is 0.
    #[must_use]
    pub fn snapshot_every(mut self, numbers: u64, take: impl Fn(Snapshot) + Send + Sync + 'static) -> Self {
        assert!(numbers > 0, "snapshot_every(0, ..): a snapshot is taken after at least one number");
        self.snapshots = Some(Every { numbers, take: Arc::new(take) });
        self
    }

    /// Takes a snapshot at END's number, before END, and calls `take` with it, on one of the run's threads: the states
    /// of all values, and nothing of what stages make at END. A run that goes on with it, with the values that have
    /// come since, goes on as if the stream had not ended. There is one where the source ends by itself or is drained;
    /// there is none if the run fails before its stages have reached END, if it is stopped, or if a stage ends the
    /// stream, as `take` does. END waits until the snapshots, cuts and upgrades that are under way are done.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::{Arc, Mutex};
    /// let sum = pipeline::<u64>().fold(0, |sum: &mut u64, x: &u64| *sum += x, |sum| sum);
    /// let last: Arc<Mutex<Option<Snapshot>>> = Arc::default();
    /// let kept = last.clone();
    /// let rings = Rings::new().snapshot_at_end(move |snapshot| *kept.lock().unwrap() = Some(snapshot));
    /// assert_eq!(rings.collect((&sum).from([1, 2, 3]))?, [6]);
    /// let snapshot = last.lock().unwrap().take().expect("the source has ended");
    /// assert_eq!(snapshot.at(), SequenceNumber(3));
    /// assert_eq!(Rings::new().resume(snapshot).collect(sum.from([4]))?, [10]);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn snapshot_at_end(mut self, take: impl Fn(Snapshot) + Send + Sync + 'static) -> Self {
        self.at_end = Some(AtEnd(Arc::new(take)));
        self
    }

    /// Begins runs with this snapshot: at its number, and each stage with its state. The source's values are those from
    /// the snapshot's number on. The output has no slots below [`Snapshot::output_at`]. A snapshot of another pipeline
    /// is refused before anything starts.
    #[must_use]
    pub fn resume(mut self, snapshot: Snapshot) -> Self {
        self.beginning = Some(Start::With(snapshot));
        self
    }

    /// As [`resume`](Rings::resume), with a snapshot of another version of the pipeline, whose plan is `old`. The rules
    /// are those of an [upgrade](crate::Handle::upgrade): a state goes to the stage of its name, keyed states also to
    /// another number of shards; a stage that only the new pipeline has begins fresh; and `migrations` say which states
    /// have changed their types, and which may be lost. A snapshot that does not fit is refused before anything starts.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let old = pipeline::<u64>().scan(0_u32, |n, _| { *n += 1; *n }).named("count").map(|n| u64::from(*n));
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start((&old).from(receiver).to(sink::collect()))?;
    /// sender.send_all(0..3).unwrap();
    /// let snapshot = run.snapshot().expect("the run goes on");
    ///
    /// let new = pipeline::<u64>().scan(0_u64, |n, _| { *n += 1; *n }).named("count");
    /// let migrations = Migrations::new().migrate("count", |n: u32| u64::from(n));
    /// let rings = Rings::new().resume_changed(snapshot, old.plan(), migrations);
    /// assert_eq!(rings.collect(new.from(3..5))?, [4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn resume_changed(mut self, snapshot: Snapshot, old: Plan, migrations: Migrations) -> Self {
        self.beginning = Some(Start::Changed(ChangedSnapshot::new(snapshot, old, migrations)));
        self
    }

    pub(crate) fn snapshots(&self) -> (Option<Every>, Option<AtEnd>) {
        (self.snapshots.clone(), self.at_end.clone())
    }

    pub(crate) fn beginning(&self) -> Option<&Start> {
        self.beginning.as_ref()
    }
}
