use super::Pool;
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
    loads.clear();
    let load = |task: &Task| task.cost().map_or(0.0, |cost| cost * task.moved() as f64);
    let roster = pool.roster();
    loads.extend(roster.cooperative().map(|together| together.map(load).sum::<f64>()));
    cut(loads, workers, cuts);
    pool.place(&roster, cuts);
    started
}
