//! Jobs that go on with the states of another version of their pipeline.

use super::{JobError, Persistent};
use crate::Manifest;
use millstream_core::Plan;
use millstream_core::plan::{UpgradeCheck, Verdict};
use millstream_exec::{Migrations, Rings, RunError, Snapshot};
use serde::Deserialize;

impl Persistent {
    /// Whether the job could go on at the newest snapshot with a pipeline of this plan. Changes nothing.
    ///
    /// # Errors
    ///
    /// If a state that was stored has no place in it, or one of its states has no name.
    pub fn judge(&self, plan: &Plan) -> Result<(), JobError> {
        plan.check_durable().map_err(|error| JobError::Run(RunError::NotDurable(error)))?;
        match self.dir.newest()? {
            Some(newest) => changed_from(&newest, plan, &self.migrations).map(drop),
            None => Ok(()),
        }
    }
}

/// These rings, which begin with a snapshot; `changed` is the plan of the version that took it, if it is another one.
pub(super) fn resumed(rings: Rings, snapshot: Snapshot, changed: Option<Plan>, migrations: Migrations) -> Rings {
    match changed {
        Some(old) => rings.resume_changed(snapshot, old, migrations),
        None => rings.resume(snapshot),
    }
}

/// The plan of the version that took a snapshot, if it is another one than `plan`.
///
/// # Errors
///
/// If a state that was stored has no place in this version.
pub(super) fn changed_from(
    manifest: &Manifest,
    plan: &Plan,
    migrations: &Migrations,
) -> Result<Option<Plan>, JobError> {
    let Ok(old) = Plan::deserialize(&manifest.plan["plan"]) else { return Ok(None) };
    if old == *plan {
        return Ok(None);
    }
    let check = migrations.check(&old, plan);
    if check.is_allowed() { Ok(Some(old)) } else { Err(other_states(manifest, &check)) }
}

fn other_states(manifest: &Manifest, check: &UpgradeCheck) -> JobError {
    let of_stages = check.refused().filter_map(|stage| match &stage.verdict {
        Verdict::Refused { why } => Some(format!("{}: {why}", stage.name)),
        _ => None,
    });
    let states = of_stages.chain(check.ends.iter().map(|why| format!("source: {why}"))).collect();
    JobError::OtherStates { snapshot: manifest.id, states }
}
