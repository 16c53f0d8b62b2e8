//! The version that retires goes on as the shadow of the one that takes its place.

use super::beside::{Edges, put_beside};
use super::common::Common;
use super::place::{Beside, may_run_twice, named};
use crate::UpgradeError;
use crate::pool::Pool;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::{Item, Plan};
use millstream_ring::{Reader, RingLayout};
use std::sync::Arc;

/// The version that retires, taken out of the run.
pub(super) struct Kept<A: RingLayout> {
    tasklets: Vec<Named>,
    plan: Arc<Plan>,
    ring_bytes: usize,
    /// Of the output of the version that goes on.
    running: Reader<A>,
}

/// Refuses to keep a version that would write its side outputs on, or that no shadow can be.
pub(super) fn may_be_kept<T: Item, A: RingLayout>(common: &Common<T, A>, pool: &Pool) -> Result<(), UpgradeError> {
    let writes = pool.roster().tasks.iter().any(|task| task.shadow.is_none() && task.side_output);
    let observer = common.site.present().observer.clone();
    may_run_twice(writes, observer.plan())
}

impl<A: RingLayout> Kept<A> {
    /// Takes the stages of the version that has retired, before others take their place. The sink reads `output` from
    /// now on.
    pub(super) fn of<T: Item>(common: &Common<T, A>, pool: &Pool, output: &Reader<A>) -> Self {
        let mut tasklets = Vec::new();
        for task in &pool.roster().tasks {
            let role = task.watched.role;
            if task.shadow.is_none() && matches!(role, Role::Stage(_)) {
                tasklets.extend(named(&(task.clone(), role)));
            }
        }
        common.splice.want_old();
        let running = output.fork();
        running.forget_marks();
        let present = common.site.present();
        Kept { tasklets, plan: present.observer.shared_plan(), ring_bytes: present.ring_bytes, running }
    }

    /// They go on beside the run, from the number on at which they have retired.
    pub(super) fn go_on<T: Item>(self, common: &Common<T, A>, pool: &Arc<Pool>, batch: usize) {
        let Kept { tasklets, plan, ring_bytes, running } = self;
        let Some(shadow) = common.splice.take_old() else { return };
        // If this version takes its place again, it goes on with its present state.
        let check = plan.check_upgrade(&plan);
        let (tasks, side_sinks) = (Vec::new(), Default::default());
        let beside = Beside { tasks, plan, ring_bytes, side_sinks, check, states: 0, batch };
        put_beside(common, pool, (tasklets, pool.next_order()), beside, Edges { running, shadow });
    }
}
