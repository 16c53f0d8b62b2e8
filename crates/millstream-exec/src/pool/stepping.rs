use super::Pool;
use millstream_core::SplitMix64;
use std::sync::atomic::Ordering;

/// Steps the tasklets in an order that the seed chooses, until all are done or the run is stopped.
///
/// # Panics
///
/// If none of them can make progress and not all are done.
pub(crate) fn step_by_seed(pool: &Pool, seed: u64) {
    let mut random = SplitMix64::new(seed);
    let mut idle = 0;
    while !pool.finished() {
        let roster = pool.roster();
        let tasks = roster.tasks.len();
        let chosen = random.below(tasks as u64) as usize;
        // How long a step took would be a part of the order.
        roster.tasks[chosen].lift_limit();
        if pool.step(&roster, chosen, &mut None) != Some(0) {
            idle = 0;
            continue;
        }
        idle += 1;
        if idle > 8 * tasks {
            idle = 0;
            // Twice: the first round may only have dropped released values.
            let moved = (0..2).any(|_| pool.round(&roster, roster.everything(), false).moved > 0);
            let unfinished = roster.tasks.iter().filter(|task| !task.done.load(Ordering::Relaxed));
            let unfinished = unfinished.map(|task| &*task.name);
            assert!(moved || pool.finished(), "deadlock of {}", unfinished.collect::<Vec<_>>().join(", "));
        }
    }
}
