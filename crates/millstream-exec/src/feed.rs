//! A source that may wait has a thread of its own, and publishes every value at once.

use crate::running::Shared;
use millstream_core::Event;
use millstream_ring::{Claim, Producer};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Takes values from the iterator until it ends or the run is stopped. The thread is not joined: it may sit in an
/// iterator that never comes back, and nobody should hang with it.
pub(crate) fn spawn<T: Event>(
    values: impl Iterator<Item = T> + Send + 'static,
    output: Producer<T>,
    shared: Arc<Shared>,
) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name("millstream-source".to_owned());
    builder.spawn(move || feed(values, output, &shared)).map(drop)
}

fn feed<T: Event>(values: impl Iterator<Item = T>, mut output: Producer<T>, shared: &Shared) {
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        for value in values {
            let Some(mut claim) = claim(&mut output, shared) else { return };
            claim.write(value);
            claim.publish();
            shared.signal.notify();
        }
        let _ = output.try_end(None);
    }));
    if let Err(payload) = outcome {
        shared.fail("source", Some(output.next().0), payload.as_ref());
    }
    drop(output);
    shared.signal.notify();
}

/// Waits for one free slot; none when the run is stopped.
fn claim<'p, T: Event>(output: &'p mut Producer<T>, shared: &Shared) -> Option<Claim<'p, T>> {
    let mut rounds = 0;
    loop {
        if shared.stopped() {
            return None;
        }
        if output.free() > 0 {
            return output.try_claim(1).ok().flatten();
        }
        rounds += 1;
        if shared.patience.wait(rounds) {
            continue;
        }
        let ticket = shared.signal.announce();
        if shared.stopped() || output.free() > 0 {
            shared.signal.withdraw(ticket);
        } else {
            shared.signal.park(ticket);
        }
        rounds = 0;
    }
}
