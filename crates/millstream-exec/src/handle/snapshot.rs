//! Snapshots on demand.

use super::Handle;
use crate::Snapshot;
use crate::fan_in::WantedCut;
use crate::keeps::RingRunner;
use crate::pool::Pool;
use crate::signal::Condition;
use millstream_core::SequenceNumber;
use std::sync::Arc;

/// Takes snapshots of a run from any thread, while another waits for it.
#[derive(Clone)]
pub struct Snapshotter(Arc<Pool>);

impl Pool {
    /// Panics in a closure of a run that goes on: the run would wait for the closure, and the closure for the run.
    pub(crate) fn assert_outside(&self) {
        assert!(
            self.finished() || !self.worker_calls(),
            "a closure of a run waits for the run, which waits for the closure"
        );
    }
}

impl Snapshotter {
    /// As [`Handle::snapshot`].
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it.
    #[must_use]
    pub fn snapshot(&self) -> Option<Snapshot> {
        let pool = &self.0;
        pool.assert_outside();
        pool.shared.snapshot(|| pool.finished())
    }

    /// As [`Handle::cut`].
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it.
    #[must_use]
    pub fn cut(&self) -> Option<(SequenceNumber, SequenceNumber)> {
        let pool = &self.0;
        pool.assert_outside();
        let cut = pool.shared.cut(|| pool.finished())?;
        Some((cut.at, cut.output))
    }
}

impl std::fmt::Debug for Snapshotter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshotter").finish_non_exhaustive()
    }
}

/// A mark that [`Handle::lay_cut`] has laid, or that is laid behind a [batch](crate::BatchSender::send).
pub struct LaidCut {
    pool: Arc<Pool>,
    id: CutId,
}

/// The id of a mark, now or once it is laid.
#[derive(Clone, Debug)]
enum CutId {
    Laid(u64),
    Wanted(WantedCut),
}

impl CutId {
    fn get(&self) -> Option<u64> {
        match self {
            CutId::Laid(id) => Some(*id),
            CutId::Wanted(cut) => cut.get().copied(),
        }
    }
}

impl LaidCut {
    pub(crate) fn new(pool: Arc<Pool>, id: u64) -> Self {
        LaidCut { pool, id: CutId::Laid(id) }
    }

    /// A mark that the merge of several producers lays.
    pub(crate) fn wanted(pool: Arc<Pool>, cut: WantedCut) -> Self {
        LaidCut { pool, id: CutId::Wanted(cut) }
    }

    /// Lays a mark, as [`Handle::lay_cut`] does.
    pub(crate) fn lay(pool: Arc<Pool>) -> Option<Self> {
        let id = pool.shared.lay_cut(|| pool.finished())?;
        Some(LaidCut::new(pool, id))
    }

    /// Whether every stage has reached the mark, so that [`passed`](LaidCut::passed) returns at once.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        let marks = &self.pool.shared.marks;
        self.id.get().is_some_and(|id| marks.may_have_passed(id) && marks.passed_this_cut(id).is_some())
    }

    /// Waits until every stage has reached the mark: the sink then has every value of the numbers before. Returns what
    /// [`Handle::cut`] returns. `None` if the run ended before, and also if it has ended since, or if thirty later
    /// marks were reached since.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn passed(self) -> Option<(SequenceNumber, SequenceNumber)> {
        self.pool.assert_outside();
        let (pool, id) = (self.pool.clone(), self.id.clone());
        // The stages publish many times between two marks, and each time the thread would look in vain.
        let condition: Condition = Arc::new(move || id.get().is_some_and(|id| pool.shared.marks.may_have_passed(id)));
        let cut = self.pool.shared.passed_cut(|| self.id.get(), || self.pool.finished(), &condition)?;
        Some((cut.at, cut.output))
    }
}

impl std::fmt::Debug for LaidCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LaidCut").field("id", &self.id).finish_non_exhaustive()
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Takes a snapshot at the next number that the source publishes, and waits until every stage has reached it. The
    /// stream does not pause. `None` if the run ends before.
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
        self.snapshotter().snapshot()
    }

    /// Lays a mark at the next number that the source publishes, and waits until every stage has reached it: the sink
    /// then has every value of the numbers before. Returns that number and its image on the output's clock. No state is
    /// cloned, and the stream does not pause. `None` if the run ends before.
    ///
    /// What a producer of a [`fan_in`](crate::fan_in) has sent has no number before the merge takes it, and may come
    /// behind the mark; for a mark behind a batch use [`batches`](Handle::batches).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::mpsc;
    /// let pairs = pipeline::<u64>().flat_map(|x| [*x, *x]);
    /// let ((sender, receiver), (sent, values)) = (source::channel(16), mpsc::channel());
    /// let run = Rings::new().start(pairs.from(receiver).to_each(move |_, x| sent.send(*x).unwrap()))?;
    /// sender.send_all([1, 2, 3]).unwrap();
    /// assert_eq!(run.cut(), Some((SequenceNumber(3), SequenceNumber(6))));
    /// assert_eq!(values.try_iter().collect::<Vec<_>>(), [1, 1, 2, 2, 3, 3]);
    /// drop(sender);
    /// run.wait()?;
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn cut(&self) -> Option<(SequenceNumber, SequenceNumber)> {
        self.snapshotter().cut()
    }

    /// Lays a mark as [`cut`](Handle::cut) does, and returns once it is laid: what is sent after that is behind the
    /// mark. Up to eight such marks are under way at once, so that a stage works at what is behind one while later
    /// stages work at what is before it; the ninth waits for the first. A snapshot or an upgrade waits for them, and
    /// they for it. `None` if the run ends before.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let odd = pipeline::<u64>().filter(|x| x % 2 == 1);
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(odd.from(receiver).to_fold(0, |sum, _, x| *sum += x))?;
    /// let cuts: Vec<_> = [1..=3, 4..=9].into_iter().map(|part| {
    ///     sender.send_all(part).unwrap();
    ///     run.lay_cut().expect("the run goes on")
    /// }).collect();
    /// let at: Vec<_> = cuts.into_iter().map(|cut| cut.passed().expect("the run goes on").0).collect();
    /// assert_eq!(at, [SequenceNumber(3), SequenceNumber(9)]);
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, 25);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    #[must_use]
    pub fn lay_cut(&self) -> Option<LaidCut> {
        let pool = self.started.pool.clone();
        pool.assert_outside();
        LaidCut::lay(pool)
    }

    /// A handle by which other threads can take snapshots of the run.
    #[must_use]
    pub fn snapshotter(&self) -> Snapshotter {
        Snapshotter(self.started.pool.clone())
    }
}
