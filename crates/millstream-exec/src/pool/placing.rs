use super::Pool;
use super::roster::Roster;
use crate::placement::{Controller, Scratch, Verdict, cut};
use crate::task::Task;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

/// Reviews the placement if it is due. Workers call it between two rounds. After the first calls it does not allocate.
pub(crate) fn review(pool: &Arc<Pool>) {
    // The workers' rates mean nothing while the source's thread runs the stages.
    if pool.shared.together() {
        return;
    }
    let Some(mut controller) = pool.try_controller() else { return };
    // Read under the lock: the clock must not go back from one review to the next.
    let now = Instant::now();
    let moved = pool.moved();
    let waited = pool.accounts.waited(pool.started());
    let leads = pool.shared.leads();
    if leads != controller.leads {
        controller.leads = leads;
        return controller.measure_again(now, moved, waited);
    }
    match controller.review(now, moved, waited, |workers| pool.standby.answered(workers)) {
        Verdict::Stay => {}
        Verdict::Summon(workers) => {
            // What each stage costs shows where none is past its rings.
            pool.shared.has_workers(workers);
            if let Err(error) = pool.summon(workers) {
                pool.standby.dismiss();
                controller.refused(&error, pool.started());
                pool.shared.has_workers(controller.workers());
            }
        }
        Verdict::Place => {
            // `place` records a failure to start a worker as a decision.
            let _ = place(pool, &mut controller);
        }
    }
    report(pool, controller);
}

/// Places the tasklets on `workers` workers from now on.
pub(crate) fn set_workers(pool: &Arc<Pool>, workers: usize) -> std::io::Result<()> {
    let mut controller = pool.controller();
    controller.set(workers);
    let placed = place(pool, &mut controller);
    report(pool, controller);
    placed
}

/// Another version of the pipeline has begun: as many workers share its tasklets as those allow. The caller holds no
/// lock.
pub(super) fn begins_version(pool: &Arc<Pool>) {
    let entries = pool.roster().cooperative.len().min(pool.seats());
    let mut controller = pool.controller();
    if controller.begins_version(entries) {
        // `place` records a failure to start a worker as a decision.
        let _ = place(pool, &mut controller);
    }
    report(pool, controller);
}

/// Notes a decision, for the report and the log. The caller holds no lock.
pub(crate) fn note(pool: &Pool, decision: String) {
    let mut controller = pool.controller();
    controller.note(decision);
    report(pool, controller);
}

/// Reports the decisions after the controller is unlocked: a subscriber may ask for the controller.
fn report(pool: &Pool, mut controller: MutexGuard<'_, Controller>) {
    let unreported = controller.take_unreported();
    drop(controller);
    unreported.iter().for_each(|decision| pool.shared.trace.placed(decision));
}

fn place(pool: &Arc<Pool>, controller: &mut Controller) -> std::io::Result<()> {
    let started = pool.start(controller.workers());
    if let Err(error) = &started {
        controller.refused(error, pool.started());
    }
    let workers = controller.workers();
    pool.shared.has_workers(workers);
    if let Some(refused) = pool.shared.idle.placed(workers) {
        controller.note(refused);
    }
    let Scratch { loads, cuts } = &mut controller.scratch;
    let roster = pool.roster();
    weigh(&roster, loads);
    cut(loads, workers, cuts);
    pool.place(&roster, cuts);
    started
}

/// What each entry that workers share has worked since the pipeline was last changed.
fn weigh(roster: &Roster, loads: &mut Vec<f64>) {
    loads.clear();
    loads.extend(roster.cooperative().map(|together| together.map(Task::load).sum::<f64>()));
}

#[cfg(test)]
mod tests {
    use super::weigh;
    use crate::placement::Controller;
    use crate::pool::Pool;
    use crate::shared::Shared;
    use crate::task_probe::TaskProbe;
    use crate::tasklet::{Progress, Tasklet};
    use crate::wait::{IdleStrategy, Wait};
    use crate::watched::Role;
    use crate::wiring::Named;
    use millstream_core::Plan;
    use std::sync::Arc;
    use std::time::Instant;

    /// Moves many numbers a step.
    struct Mover;

    impl Tasklet for Mover {
        fn step(&mut self, _: usize) -> Progress {
            Progress::moved(1 << 20)
        }

        fn failed_at(&self) -> Option<u64> {
            None
        }

        fn backlog(&self) -> u64 {
            0
        }

        fn probe(&self) -> TaskProbe {
            TaskProbe::default()
        }
    }

    /// A source that has worked for long does not outweigh the stages of a new version.
    #[test]
    fn a_new_version_is_placed_by_what_was_worked_since_it_began() {
        let plan = Plan::default();
        let shared = Arc::new(Shared::new(IdleStrategy::of(Wait::Phased, 1)));
        let named = |at: usize, role| Named::apart(at.to_string(), role, at, Box::new(Mover));
        let first = vec![named(0, Role::Source), named(1, Role::SideOutput)];
        let controller = Controller::fixed(1, String::new());
        let pool = Pool::new(first, 1, shared, controller, None, None, &plan);
        let mut loads = Vec::new();
        let mut step = |tasks: std::ops::Range<usize>| {
            let roster = pool.roster();
            for task in tasks {
                (0..1000).for_each(|_| _ = pool.step(&roster, task, &mut Some(Instant::now())));
            }
            weigh(&roster, &mut loads);
            loads.iter().map(|load| *load > 0.0).collect::<Vec<_>>()
        };
        assert_eq!(step(0..2), [true, true]);
        pool.replace((1..4).map(|at| named(at, Role::SideOutput)).collect(), None, &plan);
        assert_eq!(step(0..0), [false; 4]);
        assert_eq!(step(1..3), [false, true, true, false]);
    }
}
