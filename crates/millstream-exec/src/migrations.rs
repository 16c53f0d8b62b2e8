//! What becomes of states in another version of a pipeline.

mod migration;

pub(crate) use migration::{Limit, Migration};

use crate::snapshot::Snapshot;
use millstream_core::plan::{UpgradeCheck, UpgradeRules};
use millstream_core::{Item, Plan};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The fate of a snapshot's states in another version of the pipeline: see
/// [`Rings::resume_changed`](crate::Rings::resume_changed).
#[derive(Clone, Default)]
pub struct Migrations {
    pub(crate) rules: StateRules,
}

impl Migrations {
    /// No migrations: every state goes on as it is, and none may be lost.
    #[must_use]
    pub fn new() -> Self {
        Migrations::default()
    }

    /// Begins this stage with the state that `migrate` makes of the old one. It is called once for each key of a stage
    /// inside `shard_by`, and once for the state of a `feedback`. It is for a snapshot in memory.
    #[must_use]
    pub fn migrate<Old: Item + Clone, New: Item + Clone>(
        mut self,
        stage: impl Into<String>,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self {
        self.rules.migrate(Migration::new(stage.into(), migrate));
        self
    }

    /// As [`migrate`](Migrations::migrate), also for a snapshot that was read from bytes. `Old` has the fields that the
    /// state had when it was written, but may have another name.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// #[derive(Clone, serde::Serialize, serde::Deserialize)]
    /// struct BookV1 { sum: u64 }
    /// #[derive(Clone, Default, serde::Serialize, serde::Deserialize)]
    /// struct Book { sum: u64, count: u64 }
    ///
    /// let migrations = Migrations::new()
    ///     .migrate_written("book", |old: BookV1| Book { sum: old.sum, count: 0 })
    ///     .dropping("seen");
    /// ```
    #[cfg(feature = "durable")]
    #[must_use]
    pub fn migrate_written<Old, New>(
        mut self,
        stage: impl Into<String>,
        migrate: impl Fn(Old) -> New + Send + Sync + 'static,
    ) -> Self
    where
        Old: Item + Clone + serde::de::DeserializeOwned,
        New: Item + Clone,
    {
        self.rules.migrate(Migration::of_written(stage.into(), migrate));
        self
    }

    /// Allows the state of this stage to be lost, since the new pipeline has no such stage. Without this call that is
    /// an error.
    #[must_use]
    pub fn dropping(mut self, stage: impl Into<String>) -> Self {
        self.rules.drop(stage.into());
        self
    }

    /// Makes this stage begin fresh, although both pipelines have a stage of this name: its state is lost. A stage
    /// inside `shard_by` cannot begin fresh: its states are those of the keys.
    #[must_use]
    pub fn afresh(mut self, stage: impl Into<String>) -> Self {
        self.rules.begin_fresh(stage.into());
        self
    }

    /// The same rules for two plans: which states have a migration, which may be lost, and which begin fresh.
    #[must_use]
    pub fn rules(&self) -> UpgradeRules {
        self.rules.for_plans()
    }

    /// The verdict on every stage, without a run.
    #[must_use]
    pub fn check(&self, old: &Plan, new: &Plan) -> UpgradeCheck {
        old.check_upgrade_by(new, &self.rules.for_plans())
    }
}

impl fmt::Debug for Migrations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Migrations").field("rules", &self.rules.for_plans()).finish()
    }
}

/// The rules for states that the author of an upgrade has set.
#[derive(Clone, Default)]
pub(crate) struct StateRules {
    migrations: Vec<Migration>,
    dropped: Vec<String>,
    fresh: Vec<String>,
    /// Why the pipeline is replaced.
    pub(crate) reason: Option<String>,
    /// The time that all migrations together have.
    pub(crate) within: Option<Duration>,
}

impl StateRules {
    /// A migration takes the place of an earlier one of its stage.
    pub(crate) fn migrate(&mut self, migration: Migration) {
        self.migrations.retain(|other| other.stage != migration.stage);
        self.migrations.push(migration);
    }

    pub(crate) fn drop(&mut self, stage: String) {
        self.dropped.push(stage);
    }

    /// The same, for a check of two plans.
    pub(crate) fn for_plans(&self) -> UpgradeRules {
        let migrated = self.migrations.iter().map(|migration| migration.stage.clone()).collect();
        UpgradeRules { migrated, dropped: self.dropped.clone(), fresh: self.fresh.clone() }
    }

    /// The stage begins fresh, although both pipelines have one of its name.
    pub(crate) fn begin_fresh(&mut self, stage: String) {
        self.fresh.push(stage);
    }

    /// Whether the state of this stage is lost although both pipelines have a stage of this name.
    pub(crate) fn loses(&self, stage: &str) -> bool {
        self.fresh.iter().any(|fresh| fresh == stage)
    }

    pub(crate) fn migration(&self, stage: &str) -> Option<&Migration> {
        self.migrations.iter().find(|migration| migration.stage == stage)
    }
}

/// A snapshot of another version, and the migrations of its states.
#[derive(Clone, Debug)]
pub(crate) struct ChangedSnapshot(Arc<Changed>);

#[derive(Debug)]
struct Changed {
    snapshot: Snapshot,
    old: Plan,
    migrations: Migrations,
}

/// Two are equal if they are clones of one.
impl PartialEq for ChangedSnapshot {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for ChangedSnapshot {}

impl ChangedSnapshot {
    pub(crate) fn new(snapshot: Snapshot, old: Plan, migrations: Migrations) -> Self {
        ChangedSnapshot(Arc::new(Changed { snapshot, old, migrations }))
    }

    pub(crate) fn snapshot(&self) -> &Snapshot {
        &self.0.snapshot
    }

    pub(crate) fn old(&self) -> &Plan {
        &self.0.old
    }

    pub(crate) fn migrations(&self) -> &Migrations {
        &self.0.migrations
    }
}
