//! Upgrades on demand.

use super::{Handle, Started};
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::Change;
use crate::pool::Pool;
use crate::upgrade::{Answer, Behind, ChangeReport, Ends, RefusedChange, Site};
use crate::{IntoUpgrade, RingShape, Rings, Snapshot, UpgradeError};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Val};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError};

/// Replaces the pipeline of a run from any thread, while another waits for it.
pub struct Upgrader<R: RingRunner = Rings> {
    pub(crate) pool: Arc<Pool>,
    ends: Option<Ends>,
    pub(crate) site: Site,
    runner: PhantomData<fn() -> R>,
}

impl<R: RingRunner> Upgrader<R> {
    /// As [`Handle::upgrade`].
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it.
    ///
    /// # Errors
    ///
    /// As [`Handle::upgrade`].
    pub fn upgrade<T: Item, U: IntoUpgrade>(&self, next: U) -> Result<SequenceNumber, UpgradeError>
    where
        U::Next: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let upgrade = next.into_upgrade();
        self.change(upgrade.reason(), |answer| {
            upgrade.of_run::<R, T>(self.ends.as_ref(), self.site.clone(), (answer, None))
        })
    }

    /// As [`upgrade`](Upgrader::upgrade), and takes a snapshot of the new version at that number: a run that begins
    /// with it begins with the change. The source publishes nothing from the number on until the snapshot is taken, so
    /// there is a snapshot even if the stream has ended. It is `None` if the run has failed, or was stopped.
    ///
    /// `begins` is called with the number once the sink has everything below it, and the new version has all states but
    /// has taken no value. It is not called if the old pipeline goes on. If it panics, the run fails.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = |by: u64| pipeline::<u64>().map(move |x| x * by).scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(sums(1).from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2])?;
    /// let (at, snapshot) = run.upgrader().upgrade_and_snapshot(sums(10), |_| ())?;
    /// let snapshot = snapshot.expect("the run goes on");
    /// assert_eq!((at, snapshot.at()), (SequenceNumber(2), SequenceNumber(2)));
    /// assert_eq!(Rings::new().resume(snapshot).collect(sums(10).from([3]))?, [33]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it.
    ///
    /// # Errors
    ///
    /// As [`Handle::upgrade`], and if `next` is to be [tried](crate::Upgrade::tried).
    pub fn upgrade_and_snapshot<T: Item, U: IntoUpgrade>(
        &self,
        next: U,
        begins: impl FnOnce(SequenceNumber) + Send + 'static,
    ) -> Result<(SequenceNumber, Option<Snapshot>), UpgradeError>
    where
        U::Next: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let (upgrade, (behind, left)) = (next.into_upgrade(), Behind::new(begins));
        let at = self.change(upgrade.reason(), |answer| {
            upgrade.of_run::<R, T>(self.ends.as_ref(), self.site.clone(), (answer, Some(behind)))
        })?;
        let pool = &self.pool;
        let taken = || {
            pool.shared.marks.lay_outside();
            if pool.shared.marks.changing() {
                return None;
            }
            let ended = pool.finished();
            left.take().map(Some).or_else(|| ended.then_some(None))
        };
        Ok((at, pool.shared.wait_for(taken).flatten()))
    }

    /// As [`Handle::changes`].
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeReport> {
        self.site.present().changes.iter().cloned().collect()
    }

    pub(crate) fn ends(&self) -> Option<&Ends> {
        self.ends.as_ref()
    }

    /// Asks for a change, and waits for its answer. One that is refused at once is reported with its reason.
    pub(crate) fn change(
        &self,
        reason: Option<String>,
        change: impl FnOnce(Answer) -> Result<Box<dyn Change>, UpgradeError>,
    ) -> Result<SequenceNumber, UpgradeError> {
        let pool = &self.pool;
        pool.assert_outside();
        let answer = Arc::new(Mutex::new(None));
        let asked = change(Answer::Waits(answer.clone()));
        let change = asked.inspect_err(|error| self.site.report_refusal(None, reason, error))?;
        if pool.shared.draining() && !pool.finished() {
            return Err(UpgradeError::Draining);
        }
        pool.shared.marks.ask_change(change)?;
        pool.shared.wake();
        let answered = || {
            pool.shared.marks.lay_outside();
            // Until a change is over, its answer may still come, and no other change can be asked for.
            if pool.shared.marks.changing() {
                return None;
            }
            // Nothing is laid behind END, or by a source that was cancelled, although stages may have much left to do.
            let source_ended = pool.shared.source_has_ended() || pool.source_is_done();
            let too_late = source_ended && pool.shared.marks.wants_change();
            let ended = pool.finished() || too_late;
            let answer = answer.lock().unwrap_or_else(PoisonError::into_inner).take();
            answer.or_else(|| ended.then_some(Err(UpgradeError::Ended)))
        };
        let answer = pool.shared.wait_for(answered).unwrap_or(Err(UpgradeError::Ended));
        if matches!(answer, Err(UpgradeError::Ended)) {
            pool.shared.marks.take_back_change();
        }
        answer
    }
}

impl Started {
    pub(super) fn changes(&self) -> Vec<ChangeReport> {
        self.present().changes.iter().cloned().collect()
    }

    pub(super) fn refused_changes(&self) -> Vec<RefusedChange> {
        self.present().refused.iter().cloned().collect()
    }
}

impl<R: RingRunner> Clone for Upgrader<R> {
    fn clone(&self) -> Self {
        let Upgrader { pool, ends, site, .. } = self;
        Upgrader { pool: pool.clone(), ends: ends.clone(), site: site.clone(), runner: PhantomData }
    }
}

impl<R: RingRunner> std::fmt::Debug for Upgrader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upgrader").finish_non_exhaustive()
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Replaces the run's pipeline by `next`, at the next number that the source publishes, and waits until that is
    /// done. Returns the number: values below it went through the old pipeline, and all others go through `next`. No
    /// number is lost, and none is processed twice. The sink and the source go on.
    ///
    /// Every stage of `next` that keeps a state begins with the state that the stage of the same name had at that
    /// number, so name such stages ([`named`](Arrow::named)). `next` reads the same items as the old pipeline, and
    /// yields the same shape; [`any_edge`](millstream_core::PartsExt::any_edge) makes shapes equal. A fold of the old
    /// pipeline yields no answer: its state goes on in `next`. Named sinks of the old pipeline are finished at the
    /// number, as in a run that was drained. Those of `next` are others: one that replaces a file replaces what the old
    /// one has written.
    ///
    /// Unless [`set_workers`](Handle::set_workers) has set it, the number of workers follows the tasklets of `next`, as
    /// it did those of the first pipeline. There are never more than cores, or than that pipeline had tasklets.
    ///
    /// States are moved and not cloned, except those with a [migration](crate::Upgrade::migrate), and states of keys
    /// that a [`Snapshot`] still holds. The output pauses for as long as a number takes to pass through the pipeline;
    /// [`changes`](Handle::changes) says how long each stage paused.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let squares = pipeline::<u64>().map(|x| x * x).scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(sums.from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2]).unwrap();
    /// assert_eq!(run.upgrade(squares).unwrap(), SequenceNumber(2));
    /// sender.send_all([3, 4]).unwrap();
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, [1, 3, 12, 28]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    ///
    /// # Errors
    ///
    /// If the run is over or being drained, if another change is under way, if `next` has other ends, or if the states
    /// do not fit: a state without a stage, another type, a migration that panics, or is
    /// [late](crate::Upgrade::within). If `next` is [tried](crate::Upgrade::tried), also if it fails in that time. In
    /// each case the old pipeline goes on at the same number, and nothing is lost. In one case the run fails: keys
    /// change their lanes beside a snapshot that has their states, and cloning one of these panics.
    pub fn upgrade<T: Item, U: IntoUpgrade>(&self, next: U) -> Result<SequenceNumber, UpgradeError>
    where
        U::Next: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        self.upgrader().upgrade(next)
    }

    /// A handle by which other threads can upgrade the run.
    #[must_use]
    pub fn upgrader(&self) -> Upgrader<R> {
        let Started { pool, ends, site, .. } = &self.started;
        Upgrader { pool: pool.clone(), ends: ends.clone(), site: site.clone(), runner: PhantomData }
    }

    /// The last 64 changes of the pipeline, in their order: their numbers, what became of each stage, and the pauses.
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeReport> {
        self.started.changes()
    }

    /// The last 64 changes that were refused, in their order: why, and the number at which they were to begin. One that
    /// was asked for during another change or a drain, or after the end, is not among them.
    #[must_use]
    pub fn refused_changes(&self) -> Vec<RefusedChange> {
        self.started.refused_changes()
    }
}
