//! The states of a version that has retired go to the stages of the one that goes on.
//!
//! First everything that can fail is checked: types, versions, bounds, migrations. Then the states are exchanged, so
//! that the old version either keeps all its states or has left all of them. States of keys that a snapshot still
//! holds are cloned then; if that panics, some states are gone.

use super::error::{StateMismatch, UpgradeError};
use crate::in_place::{HeldState, InPlace};
use crate::kept::Kept;
use crate::migrations::{Limit, Migration, StateRules};
use crate::task::Task;
use crate::tasklet::Tasklet;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Plan;
use millstream_core::failure::{caught, into_message};
use millstream_core::keys::KeyMove;
use millstream_core::plan::Stage;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

/// The tasklets of the old version, which take no step meanwhile.
pub(super) struct OldTasklets<'t>(Vec<(&'t str, Locked<'t>)>);

type Locked<'t> = MutexGuard<'t, Option<Box<dyn Tasklet>>>;

impl<'t> OldTasklets<'t> {
    /// Waits for those that are in their last step.
    pub(super) fn of(tasks: &'t [Arc<Task>]) -> Self {
        let retired = tasks.iter().filter(|task| task.watched.role != Role::Source && task.shadow.is_none());
        OldTasklets(retired.map(|task| (&*task.name, task.occupant())).collect())
    }

    /// Their states.
    pub(super) fn states(&mut self) -> ByStage<'_> {
        let mut states = ByStage::new();
        for (stage, tasklet) in &mut self.0 {
            let state = tasklet.as_mut().and_then(in_place);
            states.entry((*stage).to_owned()).or_default().extend(state.map(|state| state as Box<dyn HeldState>));
        }
        states.retain(|_, states| !states.is_empty());
        states
    }
}

/// The states of each stage, one for each of its tasklets that keep one.
pub(super) type ByStage<'s> = BTreeMap<String, Vec<Box<dyn HeldState + 's>>>;

/// The states of which copies were left.
pub(super) fn copies<'s>(kept: Vec<(String, Kept)>) -> ByStage<'s> {
    let mut states = ByStage::new();
    for (stage, kept) in kept {
        states.entry(stage).or_default().extend(kept.into_held());
    }
    states.retain(|_, states| !states.is_empty());
    states
}

fn in_place(tasklet: &mut Box<dyn Tasklet>) -> Option<Box<dyn InPlace + '_>> {
    tasklet.at_marks()?.in_place()
}

/// Why states were not handed over.
pub(super) enum NotHandedOver {
    /// This one does not fit. All are where they were.
    Misfit(StateMismatch),
    /// The user's code panicked while they were exchanged: the old version cannot go on.
    Broken(StateMismatch),
}

impl From<NotHandedOver> for StateMismatch {
    fn from(why: NotHandedOver) -> Self {
        let (NotHandedOver::Misfit(mismatch) | NotHandedOver::Broken(mismatch)) = why;
        mismatch
    }
}

/// Why a new version does not begin.
pub(super) struct NotReady {
    pub(super) error: UpgradeError,
    /// Whether the old version has all its states.
    pub(super) old_goes_on: bool,
}

impl From<UpgradeError> for NotReady {
    fn from(error: UpgradeError) -> Self {
        NotReady { error, old_goes_on: true }
    }
}

impl From<NotHandedOver> for NotReady {
    fn from(why: NotHandedOver) -> Self {
        let old_goes_on = matches!(why, NotHandedOver::Misfit(_));
        NotReady { error: UpgradeError::State(why.into()), old_goes_on }
    }
}

/// Hands the states of the old version over to the new one, which has this plan, or none of them. Returns how many
/// were moved.
///
/// # Errors
///
/// The first state that does not fit, or that could not be cloned.
pub(super) fn hand_over(
    mut before: ByStage<'_>,
    new: &mut [Named],
    plan: &Plan,
    rules: &StateRules,
) -> Result<usize, NotHandedOver> {
    before.retain(|stage, _| !is_lost(stage, plan, rules));
    let mut after = BTreeMap::<String, Vec<_>>::new();
    for named in new.iter_mut().filter(|named| before.contains_key(&named.name)) {
        let state = in_place(&mut named.tasklet);
        after.entry(named.name.clone()).or_default().extend(state);
    }
    let (mut migrated, limit) = (ByStage::new(), rules.within.and_then(Limit::of));
    for (stage, new) in &after {
        let states = judge(&before[stage], new, rules.migration(stage), limit);
        let states = states.map_err(|why| NotHandedOver::Misfit(StateMismatch::new(stage, why)))?;
        migrated.extend(states.map(|states| (stage.clone(), states)));
    }
    before.extend(migrated);
    // The states of key routers come first, the outermost before the inner ones: they say where each key is.
    let keys_first = |stage: &&Stage| stage.kind != "key";
    let mut stages: Vec<_> = plan.stages.iter().collect();
    stages.sort_by_key(keys_first);
    let (mut moved, mut moves_of) = (0, BTreeMap::<&str, Vec<KeyMove>>::new());
    for stage in stages {
        let (Some(new), Some(old)) = (after.get_mut(&stage.name), before.get_mut(&stage.name)) else { continue };
        moved += new.len();
        let around = plan.key_stages(stage).last().and_then(|keys| moves_of.get(*keys)).map(Vec::as_slice);
        let exchanged = caught(|| match around {
            Some(moves) if stage.kind != "key" => {
                spread(old, new, moves);
                Vec::new()
            }
            _ => new.iter_mut().zip(old).filter_map(|(new, old)| new.take_over(&mut **old, around)).collect(),
        });
        let moves = exchanged.map_err(|payload| {
            let why = format!("has states that cannot be cloned: user code {}", into_message(payload));
            NotHandedOver::Broken(StateMismatch::new(&stage.name, why))
        })?;
        moves_of.extend(moves.into_iter().map(|moves| (&*stage.name, moves)));
    }
    Ok(moved)
}

/// Whether the state of this stage is lost, so that it begins fresh. States of keys go on with their keys.
pub(super) fn is_lost(stage: &str, plan: &Plan, rules: &StateRules) -> bool {
    let is_single = |stage: &Stage| stage.kind != "key" && plan.key_stages(stage).is_empty();
    rules.loses(stage) && plan.stages.iter().any(|other| other.name == stage && is_single(other))
}

/// The states of each key go to its new lane.
fn spread(old: &mut [Box<dyn HeldState + '_>], new: &mut [Box<dyn InPlace + '_>], moves: &[KeyMove]) {
    let Some(spread) = new.first().map(|state| state.spread()) else { return };
    let mut old: Vec<&mut dyn Any> = old.iter_mut().map(|state| state.state_mut()).collect();
    let mut new: Vec<&mut dyn Any> = new.iter_mut().map(|state| state.state_mut()).collect();
    spread(&mut old, &mut new, moves);
}

/// The migrated states of a stage, in the lanes in which they were; `None` if they go on as they are.
fn judge(
    old: &[Box<dyn HeldState + '_>],
    new: &[Box<dyn InPlace + '_>],
    migration: Option<&Migration>,
    limit: Option<Limit>,
) -> Result<Option<Vec<Box<dyn HeldState>>>, String> {
    let Some(first) = new.first() else { return Ok(None) };
    let fits = |old: &dyn HeldState| first.fits(old);
    let Some(migration) = migration else { return old.iter().try_for_each(|old| fits(&**old)).map(|()| None) };
    let migrated = old.iter().map(|old| migration.migrated(&**old, &**first, limit));
    let migrated = migrated.collect::<Result<Vec<_>, _>>()?;
    migrated.iter().try_for_each(|state| fits(&**state)).map(|()| Some(migrated))
}
