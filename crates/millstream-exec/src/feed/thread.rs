//! The thread of a source that may wait.

use super::{Offer, Output};
use crate::external_source::ExternalSource;
use crate::shared::Shared;
use crate::signal::Condition;
use crate::source::InSource;
use crate::together::Together;
use millstream_core::Item;
use millstream_core::failure::discard;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// How the thread may run the stages itself: after every value, or after every block of them.
pub(crate) trait Turns<T: Item> {
    /// Publishes a value, or keeps it for a block. Returns false if the run takes no more values.
    fn publish(&mut self, value: T, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool;

    /// Publishes what is kept, and leaves the stages to the workers.
    fn part(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>);
}

impl<T: Item> Turns<T> for Together {
    fn publish(&mut self, value: T, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        publish_together(value, output, shared, self, room)
    }

    fn part(&mut self, _: &Output<T>, shared: &Shared, _: Option<&Condition>) {
        Together::part(self, shared);
    }
}

/// Starts a thread that takes values from the iterator until the iterator ends or the run is stopped. The thread is not
/// joined: the iterator may never return.
pub(crate) fn spawn<T: Item, R: Turns<T>>(
    values: impl Iterator<Item = T> + Send + 'static,
    output: Output<T>,
    shared: Arc<Shared>,
    turns: impl FnOnce(&Output<T>) -> Option<R> + Send + 'static,
) -> std::io::Result<()> {
    let builder = std::thread::Builder::new().name("millstream-source".to_owned());
    let run = move || {
        let turns = turns(&output);
        feed(values, &output, &shared, turns);
    };
    builder.spawn(run).map(drop)
}

fn feed<T: Item>(
    values: impl Iterator<Item = T>,
    output: &Output<T>,
    shared: &Shared,
    mut turns: Option<impl Turns<T>>,
) {
    let room = output.is_half_free();
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let _in_source = InSource::of(&shared.source_waits);
        for value in values {
            let published = match &mut turns {
                Some(turns) => turns.publish(value, output, shared, room.as_ref()),
                None => publish(value, output, shared, room.as_ref()),
            };
            if !published {
                return false;
            }
        }
        true
    }));
    if let Some(turns) = &mut turns {
        // What is kept comes before END, and before the number of a failure.
        turns.part(output, shared, room.as_ref());
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
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(turns))) {
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
#[inline(never)]
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
