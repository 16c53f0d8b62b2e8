//! Tasklets of a version that runs beside the run's.

use super::Pool;
use super::roster::Roster;
use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::placement::cut_evenly;
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
        let old = self.roster();
        let passes = MarkerPasses::of(plan);
        let pass_marks = tasklets.iter_mut().filter_map(|named| named.tasklet.at_marks()).count();
        let task = |mut named: Named| {
            let role = std::mem::replace(&mut named.role, Role::SideOutput);
            let task = Task::new(named, 0, budgets, plan, &passes).in_shadow(shadow.clone());
            (Arc::new(task), role)
        };
        let new: Vec<_> = tasklets.into_iter().map(task).collect();
        self.left.fetch_add(new.len(), Ordering::Relaxed);
        self.shared.marks.shadow_tasks(pass_marks);
        let tasks = old.tasks.iter().cloned().chain(new.iter().map(|(task, _)| task.clone()));
        let roster = Arc::new(Roster::new(tasks.collect(), old.passes.clone()));
        {
            // Held until the groups are cut, so that the last set number of workers holds.
            let controller = self.controller();
            let mut placed = self.placed();
            cut_evenly(roster.cooperative.len(), controller.workers(), &mut placed.cuts);
            placed.roster = roster;
        }
        if let Err(error) = self.start_blocking() {
            self.shared.fail_with(crate::RunError::Spawn(error.to_string()));
        }
        self.has_placed();
        new
    }
}
