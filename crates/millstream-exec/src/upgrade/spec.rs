//! The pipeline of an upgrade, and its options for states.

use super::shadow::{Trial, equal};
use crate::migrations::{Migration, StateRules};
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Arrow, Item, Plan, Shape};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A pipeline that will replace a running one, with migrations for the states whose types have changed.
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
pub struct Upgrade<P: Arrow> {
    pub(super) next: Arc<P>,
    pub(super) states: StateRules,
    /// How it is tried before it takes the place of the running one.
    pub(super) trial: Option<Trial<P::Out>>,
}

impl<P: Arrow> Upgrade<P> {
    /// Why it is wanted, if its author said it.
    pub(crate) fn reason(&self) -> Option<String> {
        self.states.reason.clone()
    }

    /// An upgrade to this pipeline.
    #[must_use]
    pub fn to(next: P) -> Self {
        Upgrade { next: Arc::new(next), states: StateRules::default(), trial: None }
    }

    /// Begins this stage with the state that `migrate` makes from the old one. For a stage inside `shard_by` it is
    /// called once for each key; for a `feedback`, once for its state. It is called while no stage takes a number, so
    /// it should not take long; [`within`](Upgrade::within) sets a limit.
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

    /// Allows the state of this stage to be lost, since the new pipeline has no such stage. Without this call that is
    /// an error.
    #[must_use]
    pub fn dropping(mut self, stage: impl Into<String>) -> Self {
        self.states.drop(stage.into());
        self
    }

    /// Makes this stage begin fresh, although the running pipeline has a stage of its name: the state of that stage is
    /// lost. The state may be of any type. In a `shard_by`, the states of the keys still go on.
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

    /// Limits the time of all migrations together. If they have not ended by then, the upgrade is refused
    /// ([`UpgradeError::State`](crate::UpgradeError::State)), and the old pipeline goes on at the same number. Without
    /// a limit it would wait for as long as they take.
    ///
    /// With a limit, each migration runs on a thread of its own, with a clone of the old state, and of the new one as
    /// it would begin. A migration that is too late goes on there until it ends by itself, and its result is dropped.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let p = || pipeline::<u64>().scan(0_u64, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Rings::new().start(p().from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2])?;
    ///
    /// let (ends, waits) = std::sync::mpsc::sync_channel::<u64>(0);
    /// let waits = std::sync::Mutex::new(waits);
    /// let next = Upgrade::to(p())
    ///     .migrate("sum", move |sum: u64| sum + waits.lock().unwrap().recv().unwrap_or(0))
    ///     .within(Duration::from_millis(20));
    /// let refused = run.upgrade(next).unwrap_err().to_string();
    /// assert!(refused.ends_with(r#"stage "sum" has a migration that has not ended within 20ms"#));
    /// drop(ends);
    ///
    /// sender.send(3)?;
    /// drop(sender);
    /// let (sums, report) = run.wait()?;
    /// assert_eq!(sums, [1, 3, 6]);
    /// assert_eq!(report.refused_changes[0].at, Some(SequenceNumber(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn within(mut self, limit: Duration) -> Self {
        self.states.within = Some(limit);
        self
    }

    /// Tries the pipeline for `numbers` numbers of the source before it replaces the running one. It begins beside the
    /// running one at a number N, as a [shadow](crate::Handle::shadow), with clones of the states, and takes over at
    /// `N + numbers`. The source does not pass that number earlier. Until then the output of the trial goes nowhere,
    /// and is not compared; [`tried_alike`](Upgrade::tried_alike) compares it.
    ///
    /// If it fails in that time, by an error or a panic, the running pipeline simply goes on: no number is lost, and no
    /// stage has paused. `upgrade` returns [`UpgradeError::Shadow`](crate::UpgradeError), with the stage, the number
    /// and the cause; the report has the same in `refused_changes`. With `upgrade_at` that is all: the run does not
    /// fail.
    ///
    /// A pipeline that cannot run beside another one cannot be tried ([`UpgradeError::NoShadow`](crate::UpgradeError)),
    /// and one whose output has more or fewer numbers for the same input is refused. `upgrade` waits until the source
    /// has published all these numbers; if the stream ends before, it returns `UpgradeError::Ended`. With 0 numbers
    /// this is an upgrade without a trial.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = |d: u64| pipeline::<u64>().map(move |x| 100 / (d - x)).named("divide");
    /// let rings = Rings::new().upgrade_at(SequenceNumber(3), Upgrade::to(p(5)).tried(4));
    /// let (all, report) = rings.run(p(100).from(source::ready(0..9)).to(sink::collect()))?;
    /// assert_eq!(all, p(100).model(0..9)); // The new one has failed at number 5.
    /// let refused = report.refused_changes[0].to_string();
    /// assert!(refused.contains(r#"stage "divide", number 5: the shadow failed: panicked"#), "{refused}");
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn tried(mut self, numbers: u64) -> Self {
        self.trial = (numbers > 0).then(|| Trial::of(numbers));
        self
    }

    /// As [`tried`](Upgrade::tried), and the outputs of both pipelines have to be equal in that time: at a difference,
    /// too, the running one goes on.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = |step: u64| pipeline::<u64>().map(move |x| x / step * step).named("round");
    /// let rings = Rings::new().upgrade_at(SequenceNumber(2), Upgrade::to(p(2)).tried_alike(4));
    /// let (all, report) = rings.run(p(1).from(source::ready([2, 4, 6, 8, 9, 9])).to(sink::collect()))?;
    /// assert_eq!(all, [2, 4, 6, 8, 9, 9]);
    /// let why = r#"stage "round", number 4: the running version yields Some(9), and the shadow Some(8)"#;
    /// assert!(report.refused_changes[0].why.ends_with(why));
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn tried_alike(mut self, numbers: u64) -> Self
    where
        for<'a> <P::Out as Shape>::Ref<'a>: PartialEq + fmt::Debug,
    {
        self.trial = (numbers > 0).then(|| Trial { numbers, agrees: equal::<P::Out>() });
        self
    }

    /// Why the pipeline is replaced, for the report and the page.
    #[must_use]
    pub fn because(mut self, reason: impl Into<String>) -> Self {
        self.states.reason = Some(reason.into());
        self
    }

    /// The plan of the pipeline.
    #[must_use]
    pub fn plan(&self) -> Plan {
        self.next.plan()
    }

    /// The verdict on every stage if a run of a pipeline with the plan `old` were upgraded.
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
        old.check_upgrade_by(&self.plan(), &self.states.for_plans())
    }
}

impl<P: Arrow> fmt::Debug for Upgrade<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Upgrade").field("rules", &self.states.for_plans()).finish_non_exhaustive()
    }
}

/// A value that can replace a running pipeline: a pipeline, or an [`Upgrade`] to one. Nothing to implement.
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
