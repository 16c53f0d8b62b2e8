//! Snapshots on demand.

use super::Handle;
use crate::Snapshot;
use crate::keeps::RingRunner;

impl<O, R: RingRunner> Handle<O, R> {
    /// Takes a snapshot at the next number that the source publishes, and waits until every stage has reached it. The
    /// stream does not pause. None if the run ends before.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum });
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start((&sums).from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2, 3]).unwrap();
    /// let snapshot = run.snapshot().expect("the run goes on");
    /// assert_eq!(snapshot.at(), SequenceNumber(3));
    /// drop((run, sender));
    /// assert_eq!(Rings::new().resume(snapshot).collect(sums.from([4, 5]))?, [10, 15]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        self.started.assert_outside();
        let pool = &self.started.pool;
        pool.shared.snapshot(|| pool.finished())
    }
}
