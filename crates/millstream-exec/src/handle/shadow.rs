//! A second version beside the running one.

use super::{Handle, Upgrader};
use crate::keeps::{RingBackend, RingRunner};
use crate::upgrade::shadow_end::ShadowEnd;
use crate::upgrade::{Agrees, AnyShadow, related};
use crate::{IntoUpgrade, RingShape, Rings, UpgradeError};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Shape, Val};
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// A version of the pipeline that runs beside the running one and is compared with it. Dropping it ends the shadow; the
/// run goes on.
pub struct Shadow<R: RingRunner = Rings> {
    upgrader: Upgrader<R>,
    shadow: Arc<dyn AnyShadow>,
    at: SequenceNumber,
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Runs `next` beside the run's pipeline, from the next number that the source publishes, with clones of its
    /// states, and compares the outputs number by number, empty slots and END among them. The output of `next` goes
    /// nowhere. The stream does not pause, but each stage does while its state is cloned, as for a snapshot.
    ///
    /// A difference, or a failure in `next`, ends the shadow; the run goes on. The shadow reads the source's ring and
    /// the output, so a slow shadow slows the run. The functions of `next` are called for the same numbers as those of
    /// the run's pipeline: do not shadow a stage that calls a server. Side outputs, loops and a `take` that ends the
    /// stream are refused. So is any shadow of a pipeline with such a `take`.
    ///
    /// The stages of a shadow are not in the run's report. Those of a shadow that is over leave the run once their
    /// closures have returned. Until then a closure that reads the source's ring keeps its slots: the source waits when
    /// the others are full.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = |step: u64| pipeline::<u64>().scan(0, move |sum, x| { *sum += x / step * step; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(sums(1).from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2])?;
    /// let shadow = run.shadow(sums(2))?;
    /// sender.send_all([4, 5])?;
    /// // Four of the numbers that come next agree, it was asked; but 5 is not a multiple of 2.
    /// let differs = shadow.wait(4).unwrap_err();
    /// assert_eq!(
    ///     differs.to_string(),
    ///     "stage \"sum\", number 3: the running version yields Some(12), and the shadow Some(11)"
    /// );
    /// drop((shadow, sender));
    /// assert_eq!(run.wait()?.0, [1, 3, 7, 12]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it.
    ///
    /// # Errors
    ///
    /// As [`upgrade`](Handle::upgrade), and [`UpgradeError::NoShadow`].
    pub fn shadow<T: Item, U: IntoUpgrade>(&self, next: U) -> Result<Shadow<R>, UpgradeError>
    where
        U::Next: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
        for<'a> <<U::Next as Arrow>::Out as Shape>::Ref<'a>: PartialEq + Debug,
    {
        self.shadow_by(next, |_, running, shadow| running == shadow)
    }

    /// As [`shadow`](Handle::shadow), with the outputs of a number compared by `agree`: it gets the number, the running
    /// version's value and the shadow's.
    ///
    /// # Panics
    ///
    /// As [`shadow`](Handle::shadow). A panic of `agree` ends the shadow.
    ///
    /// # Errors
    ///
    /// As [`shadow`](Handle::shadow).
    pub fn shadow_by<T: Item, U: IntoUpgrade, F>(&self, next: U, agree: F) -> Result<Shadow<R>, UpgradeError>
    where
        U::Next: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
        for<'a> <<U::Next as Arrow>::Out as Shape>::Ref<'a>: Debug,
        F: for<'a> Fn(
                SequenceNumber,
                Option<<<U::Next as Arrow>::Out as Shape>::Ref<'a>>,
                Option<<<U::Next as Arrow>::Out as Shape>::Ref<'a>>,
            ) -> bool
            + Send
            + Sync
            + 'static,
    {
        let agrees: Arc<Agrees<<U::Next as Arrow>::Out>> = related::<<U::Next as Arrow>::Out, F>(agree);
        let (upgrader, upgrade) = (self.upgrader(), next.into_upgrade());
        let mut begins = None;
        let at = upgrader.change(upgrade.reason(), |answer| {
            let (change, shadow) = upgrade.beside::<R, T>(upgrader.ends(), &upgrader.site, agrees, answer)?;
            begins = Some(shadow);
            Ok(change)
        })?;
        Ok(Shadow { upgrader, shadow: begins.expect("the change was made"), at })
    }
}

impl<R: RingRunner> Shadow<R> {
    /// The first number that the shadow got.
    #[must_use]
    pub fn at(&self) -> SequenceNumber {
        self.at
    }

    /// How many numbers were compared and agree, END among them.
    #[must_use]
    pub fn agreed(&self) -> u64 {
        self.shadow.state().agreed.load(Ordering::Relaxed)
    }

    /// Why the shadow is over; `None` if it goes on, or went on up to the end of the run.
    #[must_use]
    pub fn end(&self) -> Option<ShadowEnd> {
        self.shadow.state().end()
    }

    /// Waits until `numbers` numbers agree, or all up to the end of the run.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: that would wait for itself.
    ///
    /// # Errors
    ///
    /// Why it is over: the first difference, or its failure. The run goes on, without a shadow.
    pub fn wait(&self, numbers: u64) -> Result<u64, ShadowEnd> {
        let pool = &self.upgrader.pool;
        pool.assert_outside();
        let done = || {
            let over = pool.finished();
            if let Some(end) = self.end() {
                return Some(Err(end));
            }
            let agreed = self.agreed();
            (agreed >= numbers || over).then_some(Ok(agreed))
        };
        pool.shared.wait_for(done).unwrap_or_else(|| Ok(self.agreed()))
    }

    /// Puts the shadow in the place of the running version, at the next number that the source publishes; by then both
    /// have processed everything below it. No state is handed over. Each stage pauses at the number until the slower
    /// version has come to it. A failure of the shadow from the number on is a failure of the run.
    ///
    /// # Errors
    ///
    /// If the shadow is over, or differs below the number; then the running version goes on. Otherwise as
    /// [`upgrade`](Handle::upgrade).
    pub fn cut_over(self) -> Result<SequenceNumber, UpgradeError> {
        if let Some(end) = self.end() {
            return Err(UpgradeError::Shadow(end));
        }
        self.upgrader.change(None, |answer| Ok(self.shadow.clone().cut_over(answer)))
    }

    /// As [`cut_over`](Shadow::cut_over), but the replaced version goes on beside the run, from the number at which the
    /// shadow takes its place. It is the returned shadow, and is compared in the same way. If it is cut over in turn,
    /// the run is back at its first version, with the states that this version has by then. Nothing is migrated back,
    /// so the new version's states may be of any types.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = || pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(sums().from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2])?;
    /// let wrong_above_9 = pipeline::<u64>().map(|x| *x.min(&9)).then(sums());
    /// let new = run.shadow(wrong_above_9)?;
    /// sender.send(3)?;
    /// assert_eq!(new.wait(1)?, 1);
    /// let old = new.cut_over_keeping()?; // At number 3.
    /// sender.send_all([4, 5])?;
    /// assert_eq!(old.wait(2)?, 2);
    /// assert_eq!(old.cut_over()?, SequenceNumber(5)); // Back, before it does harm.
    /// sender.send(10)?;
    /// drop(sender);
    /// assert_eq!(run.wait()?.0, [1, 3, 6, 10, 15, 25]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`cut_over`](Shadow::cut_over), and [`UpgradeError::NoShadow`] if the running version cannot be a shadow. The
    /// shadow is dropped then.
    pub fn cut_over_keeping(self) -> Result<Shadow<R>, UpgradeError> {
        if let Some(end) = self.end() {
            return Err(UpgradeError::Shadow(end));
        }
        let mut kept = None;
        let at = self.upgrader.change(None, |answer| {
            let (change, shadow) = self.shadow.clone().cut_over_keeping(answer);
            kept = Some(shadow);
            Ok(change)
        })?;
        Ok(Shadow { upgrader: self.upgrader.clone(), shadow: kept.expect("the change was made"), at })
    }
}

impl<R: RingRunner> Drop for Shadow<R> {
    fn drop(&mut self) {
        let shared = &self.upgrader.pool.shared;
        shared.marks.end_shadow(self.shadow.state(), ShadowEnd::Dropped);
        shared.wake();
        // Its stages may be in a pause.
        shared.surplus.notify();
    }
}

impl<R: RingRunner> Debug for Shadow<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shadow")
            .field("at", &self.at)
            .field("agreed", &self.agreed())
            .field("end", &self.end())
            .finish()
    }
}
