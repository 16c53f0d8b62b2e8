//! The thread of a source that may wait.

use super::{Offer, Output, Quick};
use crate::external_source::ExternalSource;
use crate::shared::Shared;
use crate::signal::Condition;
use crate::source::InSource;
use crate::together::Together;
use millstream_core::Item;
use millstream_core::failure::discard;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How the thread may run the stages itself.
pub(crate) enum Turn<T: Item> {
    /// Not at all.
    Never,
    /// After every value, if other processes use the cores.
    OnSharedCores(Together),
    /// After every block, if values come fast.
    Quick(Quick<T>),
}

/// Starts a thread that takes values from the iterator until the iterator ends or the run is stopped. The thread is not
/// joined: the iterator may never return.
pub(crate) fn spawn<T: Item>(
    values: impl Iterator<Item = T> + Send + 'static,
    output: Output<T>,
    shared: Arc<Shared>,
    turn: impl FnOnce(&Output<T>) -> Turn<T> + Send + 'static,
) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name("millstream-source".to_owned());
    let run = move || {
        let turn = turn(&output);
        feed(values, &output, &shared, turn);
    };
    builder.spawn(run).map(drop)
}

fn feed<T: Item>(values: impl Iterator<Item = T>, output: &Output<T>, shared: &Shared, mut turn: Turn<T>) {
    let room = output.is_half_free();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _in_source = InSource::of(&shared.source_waits);
        for value in values {
            let published = match &mut turn {
                Turn::Never => publish(value, output, shared, room.as_ref()),
                Turn::OnSharedCores(together) => publish_together(value, output, shared, together, room.as_ref()),
                Turn::Quick(quick) => quick.publish(value, output, shared, room.as_ref()),
            };
            if !published {
                return false;
            }
        }
        true
    }));
    match &mut turn {
        Turn::Never => {}
        Turn::OnSharedCores(together) => together.part(shared),
        // What is gathered comes before END, and before the number of a failure.
        Turn::Quick(quick) => _ = quick.part(output, shared, room.as_ref()),
    }
    match outcome {
        Ok(false) => {}
        Ok(true) => output.end(),
        // A panic after the end, or after the run was stopped, is not part of the run.
        Err(payload) if output.ended() || shared.stopped() => discard(payload),
        Err(payload) => shared.fail("source", Some(output.sent()), payload),
    }
    shared.signal.notify();
    // Drops values that are left.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(turn))) {
        discard(payload);
    }
}

/// As [`publish`], on a thread that may run the stages itself; then no worker is woken for the value.
fn publish_together<T: Item>(
    value: T,
    output: &Output<T>,
    shared: &Shared,
    together: &mut Together,
    room: Option<&Condition>,
) -> bool {
    let waited = match output.offer(value) {
        Offer::Published => {
            if !together.on(shared) {
                shared.signal.notify_progress();
            }
            false
        }
        Offer::Ended(_) => return false,
        Offer::Full(value) => {
            together.part(shared);
            if !publish(value, output, shared, room) {
                return false;
            }
            true
        }
    };
    together.published(waited, shared);
    true
}

/// Publishes a value as soon as there is room; after a wait, once the `room` is there. Returns false if the run takes
/// no more values.
pub(super) fn publish<T: Item>(value: T, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
    let mut unsent = Some(value);
    let offer = || match output.offer(unsent.take()?) {
        Offer::Published => Some(true),
        Offer::Ended(_) => Some(false),
        Offer::Full(value) => {
            unsent = Some(value);
            None
        }
    };
    let published = shared.wait_for_if(offer, room);
    shared.signal.notify_progress();
    published == Some(true)
}
