//! From counters to loads.

use super::{Counters, TaskletCounters};
use crate::bottleneck::{Load, Loads, Scales, ThreadTimes};
use crate::pool::Pool;
use crate::pool::roster::Roster;
use crate::task::Task;
use crate::watched::Role;
use crate::wiring::Home;
use millstream_core::Plan;
use std::time::Duration;

/// The loads of the stages between two moments.
pub(super) fn between(
    (pool, roster): (&Pool, &Roster),
    plan: &Plan,
    cores: usize,
    (before, now): (&Counters, &Counters),
    open: Option<Duration>,
) -> Loads {
    let seconds = now.at.saturating_sub(before.at).as_secs_f64();
    let controller = pool.controller();
    let (workers, rates) = (controller.workers(), controller.rates());
    drop(controller);
    let threads = now.threads.map(|now| {
        let ThreadTimes { ran, waited } = before.threads.unwrap_or_default();
        ThreadTimes { ran: (now.ran - ran).max(0.0), waited: (now.waited - waited).max(0.0) }
    });
    let mut loads = Loads { stages: Vec::new(), workers, cores, seconds, threads, rates };
    let mut role = None;
    for (index, (task, counters)) in roster.tasks.iter().zip(&now.tasklets).enumerate() {
        if task.is_sweeper() {
            continue;
        }
        let zero = TaskletCounters::default();
        let (numbers, busy) = worked(before.tasklets.get(index).unwrap_or(&zero), counters);
        match loads.stages.last_mut() {
            Some(load) if role == Some(task.watched.role) && matches!(role, Some(Role::Stage(_))) => {
                load.busy.push(busy);
                load.numbers =
                    if load.scales == Scales::Keys { load.numbers.max(numbers) } else { load.numbers + numbers };
            }
            _ => loads.stages.push(Load { busy: vec![busy], numbers, ..described(task, plan) }),
        }
        role = Some(task.watched.role);
    }
    for into in roster.tasks.iter().filter_map(|task| task.fused_into.as_deref()) {
        loads.stages.iter_mut().filter(|load| load.stage == into).for_each(|load| load.fused += 1);
    }
    fit_into(&mut loads);
    if !roster.tasks.iter().any(|task| task.watched.role == Role::Source && !task.is_sweeper()) {
        let produced = |counters: &Counters| counters.rings.first().map_or(0, |ring| ring.produced);
        let numbers = produced(now).saturating_sub(produced(before));
        let open = open.map_or_else(|| loads.guessed_open(), |open| open.as_secs_f64());
        let source =
            Load { stage: "source".to_owned(), numbers, own_thread: true, open: Some(open), ..Load::default() };
        loads.stages.insert(0, source);
    }
    loads
}

/// Numbers that go past the rings cost less than the timed ones, by which a stage's cost is known. So the time of the
/// workers is divided among their stages in proportion to those costs.
fn fit_into(loads: &mut Loads) {
    let most = loads.seconds * loads.workers as f64;
    let on_workers = loads.stages.iter_mut().filter(|load| !load.own_thread);
    let mut shares: Vec<_> = on_workers.flat_map(|load| &mut load.busy).collect();
    let busy: f64 = shares.iter().map(|share| **share).sum();
    if busy > most {
        shares.iter_mut().for_each(|share| **share *= most / busy);
    }
}

/// How many numbers a tasklet moved, and the seconds it was busy with them.
fn worked(before: &TaskletCounters, now: &TaskletCounters) -> (u64, f64) {
    let moved = now.moved.saturating_sub(before.moved);
    let (timed, ns) =
        (now.timed_numbers.saturating_sub(before.timed_numbers), now.timed_ns.saturating_sub(before.timed_ns));
    let cost = if timed > 0 { ns as f64 / timed as f64 } else { now.ns_per_number().unwrap_or(0.0) };
    (moved, moved as f64 * cost / 1e9)
}

fn described(task: &Task, plan: &Plan) -> Load {
    let scales = match task.watched.role {
        Role::Stage(stage) => {
            let stage = &plan.stages[stage];
            let clock = |ring: &usize| plan.rings[*ring].clock;
            let renumbers = stage.reads.first().map(clock) != Some(clock(&stage.writes));
            match stage.keys {
                Some(_) if stage.kind != "key" && !stage.serial => Scales::Keys,
                None if !stage.stateful && !stage.serial && !renumbers => Scales::Shard,
                None if !stage.serial && !renumbers => Scales::State,
                _ => Scales::Sequence,
            }
        }
        Role::Source | Role::Sink | Role::SideOutput => Scales::End,
    };
    Load { stage: task.name.clone(), own_thread: task.home == Home::Thread, scales, ..Load::default() }
}
