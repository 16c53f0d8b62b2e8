//! The tasklets of a run at one time, in pipeline order. A new version of the pipeline has another roster.

use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::report::StageReport;
use crate::shared::Shared;
use crate::task::Task;
use crate::wiring::{Home, Named};
use millstream_core::Plan;
use std::ops::Range;
use std::sync::Arc;

/// All tasks of a run, and the tables that follow from their order.
pub(crate) struct Roster {
    pub(crate) tasks: Vec<Arc<Task>>,
    /// The tasks that workers share; the others have a thread each. The tasks of a feedback loop form one entry.
    pub(crate) cooperative: Vec<Vec<usize>>,
    /// For each task the tasks of the feedback loop it is part of, or the task alone.
    pub(crate) around: Vec<Range<usize>>,
    pub(crate) passes: Arc<MarkerPasses>,
}

impl Roster {
    pub(crate) fn new(tasks: Vec<Arc<Task>>, passes: Arc<MarkerPasses>) -> Self {
        let cooperative = shared_tasks(tasks.iter().map(|task| (task.home, task.around)));
        let mut around: Vec<Range<usize>> = Vec::new();
        for together in tasks.chunk_by(|a, b| a.around.is_some() && a.around == b.around) {
            let (from, to) = (around.len(), around.len() + together.len());
            around.resize(to, from..to);
        }
        Roster { tasks, cooperative, around, passes }
    }

    /// The entries that the workers share, in pipeline order: a task, or all tasks of a feedback loop.
    pub(crate) fn cooperative(&self) -> impl Iterator<Item = impl Iterator<Item = &Task>> {
        self.cooperative.iter().map(|together| together.iter().map(|i| &*self.tasks[*i]))
    }

    /// The tasks of these entries.
    pub(crate) fn tasks_of(&self, group: Range<usize>) -> impl Iterator<Item = &Task> {
        self.cooperative[group].iter().flatten().map(|i| &*self.tasks[*i])
    }

    /// The reports of the run's stages and ends. Drops all tasklets, unless a step is in progress and `wait` is false.
    pub(super) fn reports(&self, shared: &Shared, wait: bool) -> Vec<StageReport> {
        let others = |task: &Task| task.shadow.is_some() || task.is_sweeper();
        let reports = self.tasks.iter().map(|task| (others(task), task.report(shared, wait)));
        reports.filter(|(others, _)| !others).map(|(_, report)| report).collect()
    }

    /// How many numbers its tasks have moved.
    pub(super) fn moved(&self) -> u64 {
        self.tasks.iter().map(|task| task.moved()).sum()
    }

    /// The range of all entries that the workers share.
    pub(crate) fn everything(&self) -> Range<usize> {
        0..self.cooperative.len()
    }

    /// How many tasks of the run have a thread of their own.
    pub(crate) fn own_threads(&self) -> usize {
        self.tasks.iter().filter(|task| task.home == Home::Thread && !task.is_left_over()).count()
    }

    /// Whether some task of the run has a thread of its own.
    pub(crate) fn has_own_threads(&self) -> bool {
        self.own_threads() > 0
    }
}

/// How many entries the workers share.
pub(crate) fn entries(tasklets: &[Named]) -> usize {
    shared_tasks(tasklets.iter().map(|tasklet| (tasklet.home, tasklet.around))).len()
}

fn shared_tasks(tasks: impl Iterator<Item = (Home, Option<usize>)>) -> Vec<Vec<usize>> {
    let mut entries: Vec<Vec<usize>> = Vec::new();
    let mut before = None;
    for (i, (_, around)) in tasks.enumerate().filter(|(_, (home, _))| *home == Home::Workers) {
        match entries.last_mut() {
            Some(together) if around.is_some() && around == before => together.push(i),
            _ => entries.push(vec![i]),
        }
        before = around;
    }
    entries
}

/// The tasks of these tasklets, which are in pipeline order.
pub(super) fn tasks(
    tasklets: Vec<Named>,
    budgets: Option<&Budgets>,
    plan: &Plan,
    passes: &Arc<MarkerPasses>,
) -> Vec<Arc<Task>> {
    let mut clock = 0;
    let task = |tasklet: Named| {
        clock = tasklet.role.clock(plan).or(tasklet.clock).unwrap_or(clock);
        Arc::new(Task::new(tasklet, clock, budgets, plan, passes))
    };
    tasklets.into_iter().map(task).collect()
}
