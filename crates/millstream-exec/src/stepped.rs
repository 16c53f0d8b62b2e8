//! Steps in an order that a seed chooses: schedules that can be replayed, on one thread.

use crate::running::Shared;
use crate::tasklet::Step;
use crate::wiring::Named;
use crate::worker::{round, step};

/// Steps one tasklet after the other, whichever the seed chooses, until all are done or the run is stopped.
///
/// # Panics
///
/// If none of them can do anything, and not all are done.
pub(crate) fn work(mut tasklets: Vec<Named>, shared: &Shared, mut seed: u64) {
    let mut idle = 0;
    while !tasklets.is_empty() && !shared.stopped() {
        let chosen = (next(&mut seed) % tasklets.len() as u64) as usize;
        match step(&mut tasklets[chosen], shared) {
            Step::Busy => idle = 0,
            Step::Done => {
                idle = 0;
                tasklets.remove(chosen);
            }
            Step::Idle => idle += 1,
        }
        if idle > 8 * tasklets.len() {
            idle = 0;
            // Once more where the first round only dropped what was released.
            let moved = round(&mut tasklets, shared) || round(&mut tasklets, shared);
            let stuck = || tasklets.iter().map(|named| named.name.as_str()).collect::<Vec<_>>().join(", ");
            assert!(moved || shared.stopped(), "a deadlock of {}", stuck());
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
