//! A source that may wait has a thread of its own, and publishes every value at once.

use crate::running::Shared;
use crate::tasklet::{Step, Tasklet};
use millstream_core::Event;
use millstream_ring::Producer;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

/// The source's producer. The source's thread publishes by it; while that thread waits for a value, a worker sweeps by
/// it, so that an idle source keeps no value alive.
pub(crate) type Output<T> = Arc<Mutex<Producer<T>>>;

/// Takes values from the iterator until it ends or the run is stopped. The thread is not joined: it may sit in an
/// iterator that never comes back, and nobody should hang with it.
pub(crate) fn spawn<T: Event>(
    values: impl Iterator<Item = T> + Send + 'static,
    output: Output<T>,
    shared: Arc<Shared>,
) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name("millstream-source".to_owned());
    builder.spawn(move || feed(values, &output, &shared)).map(drop)
}

fn feed<T: Event>(values: impl Iterator<Item = T>, output: &Output<T>, shared: &Shared) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        for value in values {
            let Some(mut output) = room(output, shared) else { return };
            if let Ok(Some(mut claim)) = output.try_claim(1) {
                claim.write(value);
                claim.publish();
            }
            drop(output);
            shared.signal.notify();
        }
        let _ = lock(output).try_end(None);
    }));
    if let Err(payload) = outcome {
        shared.fail("source", Some(lock(output).next().0), payload.as_ref());
    }
    shared.signal.notify();
}

fn lock<T: Event>(output: &Output<T>) -> MutexGuard<'_, Producer<T>> {
    output.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for a free slot; none when the run is stopped.
fn room<'o, T: Event>(output: &'o Output<T>, shared: &Shared) -> Option<MutexGuard<'o, Producer<T>>> {
    let free = || {
        let mut output = lock(output);
        (output.free() > 0).then_some(output)
    };
    let mut rounds = 0;
    while !shared.stopped() {
        if let Some(output) = free() {
            return Some(output);
        }
        rounds += 1;
        if shared.patience.wait(rounds) {
            continue;
        }
        let ticket = shared.signal.announce();
        if shared.stopped() || free().is_some() {
            shared.signal.withdraw(ticket);
        } else {
            shared.signal.park(ticket);
        }
        rounds = 0;
    }
    None
}

/// Drops what the readers of a source's ring have released.
pub(crate) struct Sweeper<T: Event>(pub(crate) Output<T>);

impl<T: Event> Tasklet for Sweeper<T> {
    fn step(&mut self) -> Step {
        let mut output = match self.0.try_lock() {
            Ok(output) => output,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // The source is publishing, which sweeps as well.
            Err(TryLockError::WouldBlock) => return Step::Idle,
        };
        output.sweep();
        if output.ended() { Step::Done } else { Step::Idle }
    }

    fn failed_at(&self) -> Option<u64> {
        None
    }
}
