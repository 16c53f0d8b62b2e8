//! Replaces the tasklets of a run that goes on, all but those of the source and the sink.
//!
//! The tasklets of the old version have retired at one mark, and step no more. Those of the new version are wired. The
//! sink keeps its tasklet, which reads another ring from now on; its task is a new one. What is left of a version that
//! ran beside the run's stays, until it has dropped its tasklets.

use super::Pool;
use super::placing::begins_version;
use super::roster::{Roster, tasks};
use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::placement::cut_evenly;
use crate::report::StageReport;
use crate::task::Task;
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Plan;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

impl Pool {
    /// Puts the tasklets of a new version in the place of those that have retired. The sink's next reader is where the
    /// sink's tasklet looks for it. Returns how many tasklets pass marks from now on.
    pub(crate) fn replace(self: &Arc<Self>, mut tasklets: Vec<Named>, budgets: Option<&Budgets>, plan: &Plan) -> usize {
        let old = self.roster();
        tasklets.extend(old.tasks.iter().find(|task| task.watched.role == Role::Sink).and_then(|task| {
            let mut tasklet = task.leave()?;
            tasklet.at_marks().into_iter().for_each(|at_marks| at_marks.resume());
            Some(Named::apart(task.name.clone(), Role::Sink, task.order, tasklet))
        }));
        let expected = tasklets.iter_mut().filter_map(|named| named.tasklet.at_marks()).count();
        let passes = MarkerPasses::of(plan);
        let new = tasks(tasklets, budgets, plan, &passes);
        self.left.fetch_add(new.len(), Ordering::Relaxed);
        if self.shared.markers.on() {
            self.shared.markers.lists(&passes);
            new.iter().for_each(|task| task.watched.probe.look(true));
        }
        let retired: Vec<_> = old.tasks.iter().filter(has_retired).collect();
        retired.iter().for_each(|task| task.replace());
        self.renew(|old| {
            let of = |stays: fn(&Task) -> bool| old.tasks.iter().filter(move |task| stays(task)).cloned();
            let sources = of(|task| task.watched.role == Role::Source);
            Roster::new(sources.chain(new).chain(of(Task::is_left_over)).collect(), passes)
        });
        let mut reports = Vec::new();
        for task in retired {
            if !task.done.swap(true, Ordering::Release) {
                self.left.fetch_sub(1, Ordering::Relaxed);
            }
            let report = task.report(&self.shared, true);
            // What it has worked beside the run is not the run's.
            if task.shadow.is_none() {
                reports.push(report);
            }
        }
        let mut before = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        add_retired(&mut before, &reports);
        drop(before);
        if let Err(error) = self.start_blocking() {
            self.shared.fail_with(crate::RunError::Spawn(error.to_string()));
        }
        begins_version(self);
        self.has_placed();
        // One of them may have ended meanwhile.
        self.drop_left_over();
        expected
    }

    /// Replaces the roster, and cuts its groups. The caller notifies the workers.
    pub(super) fn renew(&self, next: impl FnOnce(&Roster) -> Roster) {
        // Held until the groups are cut, so that the last set number of workers holds.
        let mut controller = self.controller();
        let mut placed = self.placed();
        let roster = Arc::new(next(&placed.roster));
        roster.tasks.iter().for_each(|task| task.weigh_from_now());
        placed.moved_before += placed.roster.moved().saturating_sub(roster.moved());
        cut_evenly(roster.cooperative.len(), controller.workers(), &mut placed.cuts);
        self.shared.idle.apart(roster.own_threads());
        if let Some(refused) = self.shared.idle.placed(controller.workers()) {
            controller.note(refused);
        }
        let old = std::mem::replace(&mut placed.roster, roster);
        drop((placed, controller));
        drop(old);
    }

    /// The order of a tasklet after all that the run has had, except the sink.
    pub(crate) fn next_order(&self) -> usize {
        let roster = self.roster();
        let behind = roster.tasks.iter().map(|task| task.order).filter(|order| *order < usize::MAX).max();
        behind.map_or(0, |last| last + 1)
    }

    /// Lets the retired tasklets go on, since nothing takes their place. A tasklet that has passed the mark may still
    /// be in that step, and not have noted that it retires, so this waits for each.
    pub(crate) fn go_on(&self) {
        self.roster().tasks.iter().filter(has_retired).for_each(|task| task.resume());
        self.shared.wake();
    }

    /// How many numbers all tasklets have moved, those of earlier versions among them.
    pub(super) fn moved(&self) -> u64 {
        let placed = self.placed();
        placed.moved_before + placed.roster.moved()
    }
}

/// Whether a task of the run retires at the mark of a change. One that is left of a version beside the run's may be in
/// the middle of a step for as long as its closure likes, so nothing waits for it.
fn has_retired(task: &&Arc<Task>) -> bool {
    task.watched.role != Role::Source && !task.is_left_over()
}

/// Adds the counters of an earlier version's stages to the report: to the stages of their names, or after those, or
/// before the sink.
pub(super) fn add_retired(stages: &mut Vec<StageReport>, retired: &[StageReport]) {
    let mut added = vec![false; stages.len()];
    for stage in retired {
        // A stage can have the name of an end.
        let same = |(other, _): &(&StageReport, &bool)| (&other.name, other.is_end) == (&stage.name, stage.is_end);
        let place = stages.iter().zip(&added).position(|row| same(&row) && !*row.1);
        if let Some(place) = place {
            stages[place].add(stage);
            added[place] = true;
            continue;
        }
        let last = stages.iter().zip(&added).rposition(|row| same(&row));
        let sink = stages.len() - usize::from(stages.last().is_some_and(|last| last.is_end));
        let place = last.map_or(sink, |last| last + 1);
        stages.insert(place, StageReport { left: 0, ..stage.clone() });
        added.insert(place, true);
    }
}
