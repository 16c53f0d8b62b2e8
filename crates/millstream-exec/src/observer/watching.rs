//! The rings and tasklets of a run, as observers read them.

use super::{State, TaskletCounters};
use crate::pool::roster::Roster;
use crate::task::Task;
use crate::watched::Role;
use millstream_core::Plan;
use millstream_ring::RingProbe;
use std::sync::atomic::Ordering;

/// A ring's counters, and the tasks of each of its readers.
pub(super) struct Watching {
    pub(super) probe: Option<RingProbe>,
    pub(super) readers: Vec<Vec<usize>>,
}

/// The counters and readers of each ring.
pub(super) fn watching(roster: &Roster, plan: &Plan, source: &RingProbe) -> Box<[Watching]> {
    let mut tasks_of = vec![Vec::new(); plan.stages.len() + 1];
    for (index, task) in roster.tasks.iter().enumerate() {
        match task.watched.role {
            Role::Stage(stage) => tasks_of[stage].push(index),
            Role::Sink => tasks_of[plan.stages.len()].push(index),
            Role::Source | Role::SideOutput => {}
        }
    }
    let probe = |writer: Option<usize>| match writer {
        None => Some(source.clone()),
        Some(stage) => tasks_of[stage].iter().find_map(|task| roster.tasks[*task].watched.probe.output().cloned()),
    };
    let mut rings: Box<[Watching]> =
        plan.rings.iter().map(|ring| Watching { probe: probe(ring.writer), readers: Vec::new() }).collect();
    let reads = plan.stages.iter().map(|stage| &stage.reads).chain([&plan.output]);
    for (reads, tasks) in reads.zip(&tasks_of) {
        let mut reads = reads.clone();
        reads.sort_unstable();
        reads.dedup();
        reads.into_iter().for_each(|ring| rings[ring].readers.push(tasks.clone()));
    }
    rings
}

/// The counters of a tasklet.
pub(super) fn tasklet(task: &Task) -> TaskletCounters {
    let (timed_numbers, timed_ns) = task.timed();
    let calls = task.watched.calls.as_ref();
    let done = task.done.load(Ordering::Relaxed);
    let empties = task.watched.probe.empties();
    TaskletCounters {
        moved: task.moved(),
        steps: task.steps.load(Ordering::Relaxed),
        timed_numbers,
        timed_ns,
        longest_ns: task.longest_ns.load(Ordering::Relaxed),
        batches: task.watched.batches(),
        state_bytes: task.watched.probe.state_bytes(),
        failures: calls.map_or(0, |calls| calls.failures()),
        retries: calls.map_or(0, |calls| calls.retries()),
        parked: calls.map_or(0, |calls| calls.parked()),
        looked_at: empties.looked_at,
        empties: empties.empty,
        state: if done { State::Starved } else { task.watched.probe.state() },
        done,
    }
}
