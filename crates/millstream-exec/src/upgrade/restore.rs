//! Moves the states of a snapshot of another version of the pipeline to the stages of the present one.
//!
//! The stages are wired with fresh states, on the clocks of the snapshot. Then its states are handed over to them, as
//! those of a version that has retired are.

use super::error::StateMismatch;
use super::hand_over::{ByStage, hand_over, is_lost};
use crate::in_place::HeldState;
use crate::kept::Kept;
use crate::migrations::{ChangedSnapshot, StateRules};
use crate::snapshot::{Snapshot, SnapshotMismatch, unreadable};
use crate::wiring::Named;
use millstream_core::failure::caught;
use millstream_core::plan::{UpgradeCheck, Verdict};
use millstream_core::{Plan, SequenceNumber};

/// Hands the states over to these stages, which are wired on the clocks of the snapshot; their output begins at this
/// number.
///
/// # Errors
///
/// The first stage that does not fit.
pub(crate) fn restore(
    changed: &ChangedSnapshot,
    output: SequenceNumber,
    stages: &mut [Named],
    plan: &Plan,
) -> Result<(), SnapshotMismatch> {
    let (snapshot, migrations) = (changed.snapshot(), changed.migrations());
    judge(&migrations.check(changed.old(), plan))?;
    match snapshot.output_at() {
        Some(next) if next != output => {
            let why = format!("gets number {next} next, and the output of the new pipeline would begin at {output}");
            return Err(SnapshotMismatch::new("sink", why));
        }
        _ => {}
    }
    let states = states(snapshot, stages, plan, &migrations.rules)?;
    let handed_over = hand_over(states, stages, plan, &migrations.rules).map_err(StateMismatch::from);
    handed_over.map(drop).map_err(|mismatch| SnapshotMismatch::new(&mismatch.stage, mismatch.why().to_owned()))
}

fn judge(check: &UpgradeCheck) -> Result<(), SnapshotMismatch> {
    if let Some(stage) = check.refused().next() {
        let why = match &stage.verdict {
            Verdict::Refused { why } => format!("cannot go on: {why}"),
            _ => "cannot go on".to_owned(),
        };
        return Err(SnapshotMismatch::new(&stage.name, why));
    }
    check.ends.first().map_or(Ok(()), |why| Err(SnapshotMismatch::new("source", format!("does not fit: {why}"))))
}

/// The states of the snapshot, of the types that these stages or the migrations know.
fn states(
    snapshot: &Snapshot,
    stages: &mut [Named],
    plan: &Plan,
    rules: &StateRules,
) -> Result<ByStage<'static>, SnapshotMismatch> {
    let mut states = ByStage::new();
    for (stage, kept) in snapshot.kept().filter(|(stage, _)| !is_lost(stage, plan, rules)) {
        let mismatch = |why| SnapshotMismatch::new(stage, why);
        let Some(named) = stages.iter_mut().find(|named| named.name == stage) else { continue };
        let Some(place) = named.tasklet.at_marks().and_then(|marks| marks.in_place()) else { continue };
        let read = |kept: Kept| match rules.migration(stage) {
            Some(migration) => migration.read(kept),
            None => place.load(kept),
        };
        // Cloning a state, or reading one, runs the user's code.
        let kept = kept.iter().filter(|kept| kept.type_name().is_some());
        let held = caught(|| kept.cloned().map(read).collect::<Result<Vec<Box<dyn HeldState>>, String>>());
        let held = held.unwrap_or_else(|payload| Err(unreadable(payload))).map_err(mismatch)?;
        if !held.is_empty() {
            states.insert(stage.to_owned(), held);
        }
    }
    Ok(states)
}
