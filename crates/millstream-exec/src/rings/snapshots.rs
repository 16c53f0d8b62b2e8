//! Snapshots of a run, and the one that it begins with.

use super::Rings;
use crate::marks::Every;
use crate::snapshot::Snapshot;
use std::sync::Arc;

impl Rings {
    /// Takes a snapshot whenever at least `numbers` more numbers of the source were taken, and calls `take` with it, on
    /// one of the run's threads. One snapshot is under way at a time, so that there may be fewer. The stream does not
    /// pause; each stage clones its state. [`Handle::snapshot`](crate::Handle::snapshot) takes one when asked.
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

    /// Begins runs with this snapshot: at its number, and every stage with its state. The source's values are those
    /// from the snapshot's number on. The output has no slots below [`Snapshot::output_at`]. A snapshot of another
    /// pipeline is refused before anything starts.
    #[must_use]
    pub fn resume(mut self, snapshot: Snapshot) -> Self {
        self.beginning = Some(snapshot);
        self
    }

    pub(crate) fn snapshots(&self) -> Option<&Every> {
        self.snapshots.as_ref()
    }

    pub(crate) fn beginning(&self) -> Option<&Snapshot> {
        self.beginning.as_ref()
    }
}
