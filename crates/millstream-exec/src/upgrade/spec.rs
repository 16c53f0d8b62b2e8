//! What an upgrade goes on with, and what its author says about states.

use crate::migrations::{Migration, StateRules};
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Arrow, Item, Plan};
use std::fmt;
use std::sync::Arc;

/// A pipeline that is to take the place of a running one, with migrations for the states whose types have changed.
///
/// [`Handle::upgrade`](crate::Handle::upgrade) and [`Rings::upgrade_at`](crate::Rings::upgrade_at) take one, or a
/// pipeline alone.
///
/// ```
/// use millstream::prelude::*;
/// #[derive(Clone, Default)]
/// struct BookV1 { sum: u64 }
/// #[derive(Clone, Default)]
/// struct BookV2 { sum: u64, count: u64 }
///
/// let old = pipeline::<u64>().scan(BookV1::default(), |book, x| { book.sum += x; book.sum }).named("book");
/// let new = pipeline::<u64>().scan(BookV2::default(), |book, x| {
///     (book.sum, book.count) = (book.sum + x, book.count + 1);
///     book.sum * 100 + book.count
/// });
/// let (sender, receiver) = source::channel(16);
/// let run = Rings::new().start(old.from(receiver).to(sink::collect()))?;
/// sender.send_all([1, 2]).unwrap();
/// let next = Upgrade::to(new.named("book")).migrate("book", |old: BookV1| BookV2 { sum: old.sum, count: 0 });
/// assert_eq!(run.upgrade(next)?, SequenceNumber(2));
/// sender.send_all([3, 4]).unwrap();
/// drop(sender);
/// assert_eq!(run.wait()?.0, [1, 3, 601, 1002]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Upgrade<P> {
    pub(super) next: Arc<P>,
    pub(super) states: StateRules,
}

impl<P: Arrow> Upgrade<P> {
    /// An upgrade to this pipeline.
    #[must_use]
    pub fn to(next: P) -> Self {
        Upgrade { next: Arc::new(next), states: StateRules::default() }
    }

    /// This stage begins with the state that `migrate` makes from the old one. For a stage inside `shard_by` it is
    /// called once for each key; for a `feedback`, once for its state. It is called while no stage takes a number, so
    /// it should not take long.
    ///
    /// `migrate` gets a clone: if it panics, or if a stage does not hold an `Old` or keeps no `New`, the old pipeline
    /// goes on at the same number with its state. States without a migration are moved and not cloned.
    #[must_use]
    pub fn migrate<Old: Item + Clone, New: Item + Clone>(
        mut self,
        stage: impl Into<String>,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        self.states.migrate(Migration::new(stage.into(), migrate));
        self
    }

    /// The state of this stage may be lost: the new pipeline has no such stage. Without this that is an error.
    #[must_use]
    pub fn dropping(mut self, stage: impl Into<String>) -> Self {
        self.states.drop(stage.into());
        self
    }

    /// This stage begins fresh, although the running pipeline has a stage of its name: what that stage kept is lost.
    /// The state may be of any type. In a `shard_by`, the states of the keys still go on.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sums = || pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let rings = Rings::new().upgrade_at(SequenceNumber(3), Upgrade::to(sums()).afresh("sum"));
    /// assert_eq!(rings.collect(sums().from(1..=5))?, [1, 3, 6, 4, 9]);
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn afresh(mut self, stage: impl Into<String>) -> Self {
        self.states.begin_fresh(stage.into());
        self
    }

    /// Why the pipeline is replaced, for the report and the page.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.states.reason = Some(reason.into());
        self
    }

    /// What would become of a run of a pipeline with the plan `old`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let old = pipeline::<u64>().scan(0_u32, |n, _| { *n += 1; *n }).named("count");
    /// let new = pipeline::<u64>().scan(0_u64, |n, _| { *n += 1; *n }).named("count");
    /// let check = Upgrade::to(new).migrate("count", u64::from as fn(u32) -> u64).check(&old.plan());
    /// assert!(check.is_allowed());
    /// ```
    #[must_use]
    pub fn check(&self, old: &Plan) -> UpgradeCheck {
        old.check_upgrade_by(&self.next.plan(), &self.states.for_plans())
    }
}

impl<P> fmt::Debug for Upgrade<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").field("rules", &self.states.for_plans()).finish_non_exhaustive()
    }
}

/// What can take the place of a running pipeline: a pipeline, or an [`Upgrade`] to one. Nothing to implement.
pub trait IntoUpgrade {
    /// The pipeline.
    type Next: Arrow;

    /// The upgrade.
    fn into_upgrade(self) -> Upgrade<Self::Next>;
}

impl<P: Arrow> IntoUpgrade for P {
    type Next = P;

    fn into_upgrade(self) -> Upgrade<P> {
        Upgrade::to(self)
    }
}

impl<P: Arrow> IntoUpgrade for Upgrade<P> {
    type Next = P;

    fn into_upgrade(self) -> Upgrade<P> {
        self
    }
}
