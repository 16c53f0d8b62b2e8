//! A worker calls its tasklets in pipeline order, and waits when none of them can do anything.

use crate::running::Shared;
use crate::tasklet::Step;
use crate::wiring::Named;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How long a worker without work looks for some before it parks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Rounds with a spin-loop hint between them: none where threads outnumber cores.
    pub(crate) spins: u32,
    /// Rounds with a yield between them.
    pub(crate) yields: u32,
}

impl Patience {
    /// For a run that keeps so many threads busy.
    pub(crate) fn of(threads: usize) -> Self {
        let spins = if threads > crate::rings::usable_cores() { 0 } else { 256 };
        Patience { spins, yields: 16 }
    }

    /// Waits a little; false when it is time to park.
    pub(crate) fn wait(&self, rounds: u32) -> bool {
        if rounds < self.spins {
            std::hint::spin_loop();
        } else if rounds < self.spins + self.yields {
            std::thread::yield_now();
        } else {
            return false;
        }
        true
    }
}

/// Runs the tasklets until all are done, or the run is stopped.
pub(crate) fn work(mut tasklets: Vec<Named>, shared: &Shared) {
    let mut rounds = 0;
    while !tasklets.is_empty() && !shared.stopped() {
        if round(&mut tasklets, shared) {
            rounds = 0;
            shared.signal.notify();
            continue;
        }
        rounds += 1;
        if shared.patience.wait(rounds) {
            continue;
        }
        let ticket = shared.signal.announce();
        if shared.stopped() || round(&mut tasklets, shared) {
            shared.signal.withdraw(ticket);
            shared.signal.notify();
        } else {
            shared.signal.park(ticket);
        }
        rounds = 0;
    }
    // Rings that end here may be what somebody waits for.
    drop(tasklets);
    shared.signal.notify();
}

/// One step of every tasklet; whether any of them did something.
pub(crate) fn round(tasklets: &mut Vec<Named>, shared: &Shared) -> bool {
    let mut moved = false;
    tasklets.retain_mut(|named| match step(named, shared) {
        Step::Idle => true,
        Step::Busy => {
            moved = true;
            true
        }
        Step::Done => {
            moved = true;
            false
        }
    });
    moved
}

pub(crate) fn step(named: &mut Named, shared: &Shared) -> Step {
    if shared.stopped() {
        return Step::Idle;
    }
    match catch_unwind(AssertUnwindSafe(|| named.tasklet.step())) {
        Ok(step) => step,
        Err(payload) => {
            shared.fail(&named.name, named.tasklet.failed_at(), payload.as_ref());
            Step::Idle
        }
    }
}
