//! A worker steps its tasklets in pipeline order, so that what one writes the next reads from cache, and waits when
//! none of them can do anything.

use crate::placement::review;
use crate::pool::Pool;
use std::sync::Arc;
use std::time::Instant;

/// The placement is reviewed in one round of so many.
const REVIEWED: u32 = 8;

/// Runs this worker's group until everything is done or the run is stopped.
pub(crate) fn work(pool: &Arc<Pool>, worker: usize) {
    let signal = &pool.shared.signal;
    let mut version = pool.version();
    let mut group = pool.group(worker);
    let (mut idle, mut rounds) = (0, 0_u32);
    while !pool.finished() {
        if pool.version() != version {
            version = pool.version();
            group = pool.group(worker);
        }
        match pool.round(group.clone()) {
            // A tasklet that another worker is at may still have work: no reason to park.
            None => std::thread::yield_now(),
            Some(0) => {
                idle += 1;
                if !group.is_empty() && pool.shared.patience.wait(idle) {
                    continue;
                }
                let ticket = signal.announce();
                let moved = pool.round(group.clone());
                if moved == Some(0) && !pool.finished() && pool.version() == version {
                    signal.park(ticket);
                } else {
                    signal.withdraw(ticket);
                    signal.notify();
                }
                idle = 0;
            }
            Some(_) => {
                idle = 0;
                signal.notify();
                rounds += 1;
                if rounds % REVIEWED == 0 {
                    review(pool);
                }
            }
        }
    }
    // Somebody may wait for what ended here.
    signal.notify();
}

/// Runs one tasklet that may block, until it is done or the run is stopped.
pub(crate) fn work_alone(pool: &Arc<Pool>, seat: usize) {
    let moved = || pool.step(seat, &mut Instant::now()).filter(|moved| *moved > 0);
    while !pool.is_done(seat) && pool.shared.wait_for(moved).is_some() {
        pool.shared.signal.notify();
    }
    pool.shared.signal.notify();
}
