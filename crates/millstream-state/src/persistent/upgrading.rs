//! Jobs whose pipeline is replaced while they run.

use super::described::Described;
use super::offers::Offers;
use super::same_numbers::ByNumber;
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Arrow, Item, SequenceNumber, Val};
use millstream_exec::{ChangeReport, Durable, IntoUpgrade, Lasting, UpgradeError, Upgrader};
use serde_json::Value;
use std::sync::Arc;

/// Replaces the pipeline of a persistent job from any thread. See [`upgrade`](JobUpgrader::upgrade).
#[derive(Clone)]
pub struct JobUpgrader {
    upgrader: Upgrader<Durable>,
    offers: Offers,
    by_number: Arc<ByNumber>,
}

/// A completed change of a job's pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Upgraded {
    /// The values of the source from this number on go through the new version.
    pub at: SequenceNumber,
    /// Whether its snapshot at that number is stored; if not, why. A later snapshot makes up for it. Until there is
    /// one, the job begins with the old version's snapshots when it is started again.
    pub stored: Result<(), String>,
}

impl JobUpgrader {
    pub(super) fn new(upgrader: Upgrader<Durable>, offers: Offers, by_number: Arc<ByNumber>) -> Self {
        JobUpgrader { upgrader, offers, by_number }
    }

    /// Goes on with another version of the pipeline, as [`Handle::upgrade`](millstream_exec::Handle::upgrade) does, and
    /// stores a snapshot of it, at the number from which on values go through it. All later snapshots have its plan,
    /// and the [description](super::Persistent::described_as) that `job` returns for that number.
    ///
    /// Once the snapshot is stored, a job that is started again begins with the new version's states, at that number or
    /// later. If the process dies before, it begins with a snapshot of the old version, and the sink goes back to that,
    /// or keeps the numbers that it has, whatever version they are from. No number is lost in either case, and none is
    /// in the output twice. Start it again with the version that should go on: it is judged like any other.
    ///
    /// `begins` is called with the number once the sink has everything below it, before it gets a value of the new
    /// version. It is not called if the old version goes on.
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*, state::{Cadence, Persistent, StateDir, again}};
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let out = home.path().join("out");
    /// let sums = |by: u64| {
    ///     let sum = pipeline::<u64>().map(move |x| x * by).scan(0, |sum, x| { *sum += x; *sum });
    ///     sum.named("sum").map(|sum| format!("{sum}\n"))
    /// };
    /// let dir = || StateDir::open(home.path().join("state"), "sums");
    /// let job = Persistent::new(Rings::new(), dir()?).snapshot_every(Cadence::OnCall);
    /// let running = job.start(&sums(1), again(|| 1..), FileSink::append(&out))?;
    /// let changed = running.upgrader().upgrade(sums(10), |_| "tens".into(), |_| ())?;
    /// assert_eq!(changed.stored, Ok(()));
    /// drop(running);
    /// // It is as if it had died.
    /// let (job, end) = (Persistent::new(Rings::new(), dir()?), changed.at.0 + 2);
    /// let (_, stored) = job.run(&sums(10), again(move || 1..=end), FileSink::append(&out))?;
    /// assert_eq!(stored.began, changed.at.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    ///
    /// If a closure of the job calls it.
    ///
    /// # Errors
    ///
    /// As [`Upgrader::upgrade_and_snapshot`]; and if a [start](super::Persistent::start) with this version would be
    /// refused with [`JobError::OtherNumbers`](super::JobError::OtherNumbers). The old version goes on.
    pub fn upgrade<T: Item, U: IntoUpgrade>(
        &self,
        next: U,
        job: impl FnOnce(SequenceNumber) -> Value,
        begins: impl FnOnce(SequenceNumber) + Send + 'static,
    ) -> Result<Upgraded, UpgradeError>
    where
        U::Next: Lasting + Arrow<In = Val<T>> + Send + Sync,
    {
        let next = next.into_upgrade();
        let plan = next.plan();
        if let Err(refused) = self.by_number.check(&plan) {
            let check = UpgradeCheck { ends: vec![refused.to_string()], ..UpgradeCheck::default() };
            return Err(UpgradeError::Check(Box::new(check)));
        }
        let changing = self.offers.change().ok_or(UpgradeError::UnderWay)?;
        let (at, snapshot) = self.upgrader.upgrade_and_snapshot(next, begins)?;
        let stored = match snapshot {
            Some(snapshot) => changing.made(Described::new(&plan, job(at)), snapshot).map(drop).map_err(String::from),
            None => Err("the job ended before it was stored".to_owned()),
        };
        Ok(Upgraded { at, stored })
    }

    /// As [`Handle::changes`](millstream_exec::Handle::changes).
    #[must_use]
    pub fn changes(&self) -> Vec<ChangeReport> {
        self.upgrader.changes()
    }
}

impl std::fmt::Debug for JobUpgrader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobUpgrader").finish_non_exhaustive()
    }
}
