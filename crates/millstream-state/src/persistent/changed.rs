//! Jobs that go on with the states of another version of their pipeline.

use super::{JobError, Persistent};
use crate::Manifest;
use millstream_core::plan::{UpgradeCheck, Verdict};
use millstream_core::{Item, Plan};
use millstream_exec::{Migrations, Rings, RunError, Snapshot};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::fmt;
use std::sync::Arc;

/// The rules for the states of other versions.
#[derive(Clone, Default)]
pub(super) struct Versions {
    migrations: Migrations,
    judge: Option<Arc<Judge>>,
}

type Judge = dyn Fn(&Value) -> Result<Option<Migrations>, String> + Send + Sync;

impl fmt::Debug for Versions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Versions").field("migrations", &self.migrations).finish_non_exhaustive()
    }
}

/// Another version that took a snapshot.
pub(super) struct Changed {
    plan: Plan,
    migrations: Migrations,
}

impl Persistent {
    /// Lets the job go on with another version of the pipeline, in which the state of this stage has another type: the
    /// stage begins with the state that `migrate` makes from the stored one. For a stage inside `shard_by` it is called
    /// once for each key. `Old` has the fields that were stored; its name may differ.
    ///
    /// Without a migration, a state goes to the stage of its name, even with another number of shards. A stage that
    /// only this version has begins fresh at the number, and stages without a state come and go.
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*, state::{Cadence, Persistent, StateDir, again}};
    /// #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    /// struct MeanV1 { sum: u64 }
    /// #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    /// struct Mean { sum: u64, count: u64 }
    ///
    /// # let home = tempfile::tempdir()?;
    /// # let out = home.path().join("out");
    /// # let dir = || StateDir::open(home.path().join("state"), "means");
    /// # let every = Cadence::Numbers(1);
    /// let old = pipeline::<u64>().scan(MeanV1::default(), |mean, x| { mean.sum += x; mean.sum });
    /// let old = old.named("mean").map(|sum| format!("{sum}\n"));
    /// let job = Persistent::new(Rings::new().batch(1), dir()?).snapshot_every(every);
    /// job.run(&old, again(|| 1..=3), FileSink::append(&out))?;
    ///
    /// let new = pipeline::<u64>().scan(Mean { count: 0, ..Mean::default() }, |mean, x| {
    ///     (mean.sum, mean.count) = (mean.sum + x, mean.count + 1);
    ///     format!("{} of {}\n", mean.sum, mean.count)
    /// });
    /// let job = Persistent::new(Rings::new(), dir()?)
    ///     .migrate("mean", |old: MeanV1| Mean { sum: old.sum, count: 100 });
    /// let (_, stored) = job.run(&new.named("mean"), again(|| 1..=5), FileSink::append(&out))?;
    /// let (SequenceNumber(began), written) = (SequenceNumber(stored.began), std::fs::read_to_string(&out)?);
    /// assert!(written.ends_with(&format!("15 of {}\n", 105 - began)), "{written}");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn migrate<Old, New>(
        mut self,
        stage: impl Into<String>,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self
    where
        Old: Item + Clone + DeserializeOwned,
        New: Item + Clone,
    {
        let migrations = std::mem::take(&mut self.versions.migrations);
        self.versions.migrations = migrations.migrate_written(stage, migrate);
        self
    }

    /// Allows the stored state of this stage to be lost, since the pipeline no longer has such a stage. Without this
    /// call that is an error.
    #[must_use]
    pub fn dropping(mut self, stage: impl Into<String>) -> Self {
        self.versions.migrations = std::mem::take(&mut self.versions.migrations).dropping(stage);
        self
    }

    /// Sets these migrations in place of earlier ones.
    #[must_use]
    pub fn with_migrations(mut self, migrations: Migrations) -> Self {
        self.versions.migrations = migrations;
        self
    }

    /// Lets `judge` decide whether the job can go on with the states that another version has stored. It gets the
    /// [description](Persistent::described_as) of the job that took the snapshot, and returns the migrations of its
    /// states. `None` means the same version, for which the migrations that were set suffice. It is for programs that
    /// are data, whose plans do not show every difference: two different filters have the same plan.
    ///
    /// ```
    /// use millstream::{io::FileSink, prelude::*, state::{JobError, Persistent, StateDir, again}};
    ///
    /// # let home = tempfile::tempdir()?;
    /// let numbers = pipeline::<u64>().scan(0, |n, x| { *n += x; format!("{n}\n") }).named("sum");
    /// let job = |unit: &'static str| -> Result<Persistent, Box<dyn std::error::Error>> {
    ///     let dir = StateDir::open(home.path().join("state"), "sum")?;
    ///     let job = Persistent::new(Rings::new(), dir).described_as(unit.into());
    ///     Ok(job.judged_by(move |stored| match stored.as_str() {
    ///         Some(before) if before != unit => Err(format!("the sum is one of {before}, and not of {unit}")),
    ///         _ => Ok(None),
    ///     }))
    /// };
    /// let out = FileSink::append(home.path().join("out"));
    /// job("metres")?.run(&numbers, again(|| 1..=3), out.clone())?;
    /// let refused = job("feet")?.run(&numbers, again(|| 1..=5), out).unwrap_err();
    /// assert!(matches!(refused, JobError::OtherVersion { .. }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn judged_by(
        mut self,
        judge: impl Fn(&Value) -> Result<Option<Migrations>, String> + Send + Sync + 'static,
    ) -> Self {
        self.versions.judge = Some(Arc::new(judge));
        self
    }

    /// Whether the job could go on at the newest snapshot with a pipeline of this plan. Changes nothing.
    ///
    /// # Errors
    ///
    /// If a state that was stored has no place in it, or one of its states has no name.
    pub fn judge(&self, plan: &Plan) -> Result<(), JobError> {
        plan.check_durable().map_err(|error| JobError::Run(RunError::NotDurable(error)))?;
        match self.dir.newest()? {
            Some(newest) => self.versions.changed_from(&newest, plan).map(drop),
            None => Ok(()),
        }
    }
}

/// Makes the rings begin with a snapshot, perhaps of another version.
pub(super) fn resumed(rings: Rings, snapshot: Snapshot, changed: Option<Changed>) -> Rings {
    match changed {
        Some(Changed { plan, migrations }) => rings.resume_changed(snapshot, plan, migrations),
        None => rings.resume(snapshot),
    }
}

impl Versions {
    pub(super) fn of(migrations: Migrations) -> Self {
        Versions { migrations, judge: None }
    }

    /// The version that took a snapshot, if it is another one than that of `plan`.
    ///
    /// # Errors
    ///
    /// If a stored state has no place in this version, or the version is refused.
    pub(super) fn changed_from(&self, manifest: &Manifest, plan: &Plan) -> Result<Option<Changed>, JobError> {
        let judged = match &self.judge {
            Some(judge) => {
                judge(&manifest.plan["job"]).map_err(|why| JobError::OtherVersion { snapshot: manifest.id, why })?
            }
            None => None,
        };
        let Ok(old) = Plan::deserialize(&manifest.plan["plan"]) else { return Ok(None) };
        if judged.is_none() && old == *plan {
            return Ok(None);
        }
        let migrations = judged.unwrap_or_else(|| self.migrations.clone());
        let check = migrations.check(&old, plan);
        if check.is_allowed() {
            Ok(Some(Changed { plan: old, migrations }))
        } else {
            Err(other_states(manifest, &check))
        }
    }
}

fn other_states(manifest: &Manifest, check: &UpgradeCheck) -> JobError {
    let of_stages = check.refused().filter_map(|stage| match &stage.verdict {
        Verdict::Refused { why } => Some(format!("{}: {why}", stage.name)),
        _ => None,
    });
    let states = of_stages.chain(check.ends.iter().map(|why| format!("source: {why}"))).collect();
    JobError::OtherStates { snapshot: manifest.id, states }
}
