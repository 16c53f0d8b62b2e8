//! Steps in an order that a seed chooses: schedules that can be replayed, on one thread.

use crate::pool::Pool;

/// Steps one tasklet after the other, whichever the seed chooses, until all are done or the run is stopped.
///
/// # Panics
///
/// If none of them can do anything, and not all are done.
pub(crate) fn work(pool: &Pool, mut seed: u64) {
    let seats = pool.seats().len();
    let mut idle = 0;
    while !pool.finished() {
        let chosen = (next(&mut seed) % seats as u64) as usize;
        if pool.step(chosen, &mut None) != Some(0) {
            idle = 0;
            continue;
        }
        idle += 1;
        if idle > 8 * seats {
            idle = 0;
            // Once more where the first round only dropped what was released.
            let moved = (0..2).any(|_| pool.round(pool.everything(), false) != Some(0));
            let unfinished = (0..seats).filter(|seat| !pool.is_done(*seat)).map(|seat| &*pool.seats()[seat].name);
            assert!(moved || pool.finished(), "a deadlock of {}", unfinished.collect::<Vec<_>>().join(", "));
        }
    }
}

/// The next random number: SplitMix64.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *seed;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
