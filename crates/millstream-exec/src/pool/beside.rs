//! Tasklets of a version that runs beside the run's.

use super::Pool;
use super::roster::Roster;
use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::task::Task;
use crate::upgrade::shadow_state::ShadowState;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Plan;
use std::sync::Arc;
use std::sync::atomic::Ordering;

impl Pool {
    /// Adds tasklets that the workers step as well, with their roles in their own plan, of which the last one compares.
    /// Observers of the run see them as side outputs. Returns their tasks, with those roles.
    pub(crate) fn add_beside(
        self: &Arc<Self>,
        mut tasklets: Vec<Named>,
        budgets: Option<&Budgets>,
        plan: &Plan,
        shadow: &Arc<ShadowState>,
    ) -> Vec<(Arc<Task>, Role)> {
        let passes = MarkerPasses::of(plan);
        let pass_marks = tasklets.iter_mut().filter_map(|named| named.tasklet.at_marks()).count();
        let task = |mut named: Named| {
            let role = std::mem::replace(&mut named.role, Role::SideOutput);
            let task = Task::new(named, 0, budgets, plan, &passes).in_shadow(shadow.clone());
            (Arc::new(task), role)
        };
        let new: Vec<_> = tasklets.into_iter().map(task).collect();
        self.left.fetch_add(new.len(), Ordering::Relaxed);
        self.shared.marks.shadow_tasks(pass_marks, shadow);
        self.shared.beside.add(new.iter().map(|(task, _)| task.order).collect(), shadow);
        self.renew(|old| {
            let tasks = old.tasks.iter().chain(new.iter().map(|(task, _)| task));
            Roster::new(tasks.cloned().collect(), old.passes.clone())
        });
        if let Err(error) = self.start_blocking() {
            self.shared.fail_with(crate::RunError::Spawn(error.to_string()));
        }
        self.has_placed();
        new
    }

    /// Takes the tasks out of the roster that have ended with a version beside the run's. What they have worked is not
    /// in the report.
    pub(super) fn drop_left_over(&self) {
        let is_gone = |task: &Arc<Task>| task.is_left_over() && task.done.load(Ordering::Acquire);
        if !self.roster().tasks.iter().any(is_gone) {
            return;
        }
        self.renew(|old| {
            let stay = old.tasks.iter().filter(|task| !is_gone(task)).cloned();
            Roster::new(stay.collect(), old.passes.clone())
        });
        self.has_placed();
    }
}
