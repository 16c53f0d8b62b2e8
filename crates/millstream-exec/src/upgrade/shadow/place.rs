//! The shadow to which the run can cut over.

use crate::UpgradeError;
use crate::side_sinks::SideSinks;
use crate::task::Task;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Plan;
use millstream_core::plan::UpgradeCheck;
use std::sync::{Arc, Mutex};

/// The place where a shadow that has begun leaves its tasklets.
pub(super) type Place = Mutex<Option<Beside>>;

/// A shadow's tasklets, with their plan and counts.
pub(crate) struct Beside {
    /// With their roles in its own plan.
    pub(super) tasks: Vec<(Arc<Task>, Role)>,
    pub(super) plan: Arc<Plan>,
    pub(super) ring_bytes: usize,
    pub(super) side_sinks: SideSinks,
    pub(super) check: UpgradeCheck,
    pub(super) states: usize,
    pub(super) batch: usize,
}

/// The tasklet of a task that has retired, which goes on in another task, with its own role.
pub(super) fn named((task, role): &(Arc<Task>, Role)) -> Option<Named> {
    let mut tasklet = task.leave()?;
    tasklet.at_marks().into_iter().for_each(|at_marks| at_marks.resume());
    let Task { name, home, side_output, around, order, fused_into, keys, watched, .. } = &**task;
    let (name, fused_into, keys, calls) = (name.clone(), fused_into.clone(), keys.clone(), watched.calls.clone());
    let (role, order, home, side_output, around) = (*role, *order, *home, *side_output, *around);
    // What a shadow has of side outputs stays in it.
    let clock = None;
    Some(Named { name, role, order, tasklet, home, side_output, around, fused_into, keys, calls, clock })
}

/// Refuses a pipeline whose effects a shadow would repeat, such as side outputs that it `writes`.
pub(super) fn may_run_twice(writes: bool, plan: &Plan) -> Result<(), UpgradeError> {
    let refused = |why: &str| Err(UpgradeError::NoShadow(why.to_owned()));
    if writes {
        return refused("its side outputs would be written twice");
    }
    if plan.stages.iter().any(|stage| stage.serial) || ends_stream(plan) {
        return refused("a `feedback`, or a `take` that ends the stream, cannot run beside another version");
    }
    Ok(())
}

/// Refuses a shadow beside a running version that ends the stream by itself: that gives up the source, perhaps before
/// the shadow has got what is before END, and the shadow would wait for it.
pub(super) fn may_have_shadow(plan: &Plan) -> Result<(), UpgradeError> {
    if ends_stream(plan) {
        let why = "no other version can run beside one with a `take` that ends the stream";
        return Err(UpgradeError::NoShadow(why.to_owned()));
    }
    Ok(())
}

/// Whether a stage ends the stream. A `take` in a body ends nothing.
fn ends_stream(plan: &Plan) -> bool {
    plan.stages.iter().any(|stage| stage.ends)
}
