//! The states of a version that has retired go to the stages of the one that goes on.
//!
//! First everything is asked that can fail: types, versions, lanes, bounds, migrations. Then the states are exchanged,
//! which cannot fail. So the old version either keeps all its states or has left all of them.

use super::error::StateMismatch;
use super::spec::StateRules;
use crate::in_place::InPlace;
use crate::task::Task;
use crate::tasklet::Tasklet;
use crate::watched::Role;
use crate::wiring::Named;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, MutexGuard};

/// The tasklets of the old version, which take no step meanwhile.
pub(super) struct OldTasklets<'t>(Vec<(&'t str, MutexGuard<'t, Option<Box<dyn Tasklet>>>)>);

impl<'t> OldTasklets<'t> {
    /// Waits for those that are in their last step.
    pub(super) fn of(tasks: &'t [Arc<Task>]) -> Self {
        let retired = tasks.iter().filter(|task| task.watched.role != Role::Source);
        OldTasklets(retired.map(|task| (&*task.name, task.occupant())).collect())
    }
}

/// The states of each stage, one for each of its tasklets that keep one.
type ByStage<'s> = BTreeMap<String, Vec<Box<dyn InPlace + 's>>>;

fn add<'s>(states: &mut ByStage<'s>, stage: &str, tasklet: &'s mut Box<dyn Tasklet>) {
    let state = tasklet.at_marks().and_then(|at_marks| at_marks.in_place());
    if let Some(state) = state {
        states.entry(stage.to_owned()).or_default().push(state);
    }
}

/// Hands the states of the old version over to the new one, or none of them. Returns how many were moved.
///
/// # Errors
///
/// The first state that does not fit.
pub(super) fn hand_over(
    old: &mut OldTasklets<'_>,
    new: &mut [Named],
    rules: &StateRules,
) -> Result<usize, StateMismatch> {
    let (mut before, mut after) = (ByStage::new(), ByStage::new());
    for (stage, tasklet) in &mut old.0 {
        tasklet.iter_mut().for_each(|tasklet| add(&mut before, stage, tasklet));
    }
    new.iter_mut().for_each(|named| add(&mut after, &named.name, &mut named.tasklet));
    let mut migrated = BTreeMap::new();
    for (stage, new) in &after {
        let Some(old) = before.get(stage) else { continue };
        let states = judged(stage, old, new, rules).map_err(|why| StateMismatch::new(stage, why))?;
        migrated.insert(stage.clone(), states);
    }
    let mut moved = 0;
    for (stage, new) in &mut after {
        let (Some(old), Some(states)) = (before.get_mut(stage), migrated.remove(stage)) else { continue };
        moved += new.len();
        match states {
            Some(states) => {
                for (new, state) in new.iter_mut().zip(states) {
                    assert!(new.put(state), "the type was compared");
                }
            }
            None => new.iter_mut().zip(old).for_each(|(new, old)| new.take_over(&mut **old)),
        }
    }
    Ok(moved)
}

/// What migrations make of the states of a stage; none if they go on as they are.
fn judged(
    stage: &str,
    old: &[Box<dyn InPlace + '_>],
    new: &[Box<dyn InPlace + '_>],
    rules: &StateRules,
) -> Result<Option<Vec<Box<dyn Any>>>, String> {
    if old.len() != new.len() {
        return Err(format!("has {} lanes, and {} in the running pipeline", new.len(), old.len()));
    }
    let mut pairs = old.iter().zip(new);
    match rules.migration(stage) {
        Some(migration) => pairs.map(|(old, new)| migration.migrated(&**old, &**new)).collect::<Result<_, _>>().map(Some),
        None => pairs.try_for_each(|(old, new)| new.fits(&**old)).map(|()| None),
    }
}
