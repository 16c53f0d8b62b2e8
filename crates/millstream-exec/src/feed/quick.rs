//! A source whose values come fast: its thread gathers them, and runs the stages after every block.
//!
//! To hand a value to a worker costs a lock and the way of some cache lines to another core: more than a cheap stage
//! does with it. So where values come fast, the [faster way](HereOrApart) is taken: the workers run the stages, or the
//! thread runs them itself after every [`BLOCK`] values.
//!
//! A value that none follows must come out too. While the thread runs the stages, a worker looks every 200 microseconds
//! whether it still does. If not, the source waits: the worker publishes what is gathered, and takes the stages back.
//! So the last values before a pause may come out half a millisecond late, if thousands came fast before them.
//!
//! The worker looks once, and waits for no room. So the thread begins a block only if the ring has room for all of it:
//! this thread alone publishes, and the room does not shrink meanwhile. Otherwise it leaves the stages to the workers.

use super::thread::{Turns, publish};
use super::{Output, Published};
use crate::here_or_apart::HereOrApart;
use crate::pool::Pool;
use crate::shared::Shared;
use crate::signal::Condition;
use crate::stages_here::StagesHere;
use crate::stages_on::StagesOn;
use millstream_core::Item;
use millstream_ring::spsc::{Sender, Sent};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How many values the thread gathers, if the ring has room for them.
const BLOCK: usize = 64;
/// The speed is measured over this many values.
const WINDOW: u32 = 4096;
/// Values come fast if one takes at most this long.
const FAST: Duration = Duration::from_micros(1);
/// A value of more bytes is not moved once more.
const MOST_BYTES: usize = 256;

/// The means by which the thread of a source passes values that come fast.
pub(crate) struct Quick<T: Item> {
    ways: HereOrApart,
    /// The beginning of the window.
    since: Instant,
    stages: StagesHere,
    gathered: Sender<T>,
    /// The most values of a block.
    block: usize,
    /// Whether this thread gathers values. The ring has room for the whole block.
    gathers: bool,
    /// How many values have come in this block, and in this window.
    in_block: usize,
    in_window: u32,
}

impl<T: Item> Quick<T> {
    /// Called by the source's thread. None if that thread may not run the stages.
    pub(crate) fn new(pool: &Arc<Pool>, output: &Output<T>, on: StagesOn) -> Option<Self> {
        if on == StagesOn::Workers || size_of::<T>() > MOST_BYTES {
            return None;
        }
        let stages = StagesHere::new(pool)?;
        let block = output.slots().min(BLOCK);
        let gathered = output.gathers(block)?;
        pool.source_thread.gathers(Arc::new(output.clone()));
        let since = Instant::now();
        let ways = HereOrApart::new(on, FAST * WINDOW, since);
        Some(Quick { ways, since, stages, gathered, block, gathers: false, in_block: 0, in_window: 0 })
    }

    /// After a value that was left to the workers: runs the stages from the next one on, if that is the way to go.
    #[cold]
    fn passed(&mut self, output: &Output<T>, shared: &Shared) {
        if !self.ways.is_here() {
            self.end_window();
        }
        if self.ways.is_here() {
            self.begin(output, shared);
        }
    }

    /// Runs the stages from now on, if the ring has room for a block. If not, it looks again after the next value.
    fn begin(&mut self, output: &Output<T>, shared: &Shared) {
        self.gathers = output.has_room_for(self.block);
        if !self.gathers {
            self.in_window = WINDOW;
            return;
        }
        let now = Instant::now();
        (self.in_block, self.in_window, self.since) = (0, 0, now);
        self.stages.settle(now, false);
        shared.begin_together(true);
    }

    /// Returns the time of its end.
    fn end_window(&mut self) -> Instant {
        let now = Instant::now();
        self.in_window = 0;
        let took = now.duration_since(std::mem::replace(&mut self.since, now));
        self.ways.passed(now, took);
        now
    }

    /// Publishes what is gathered and runs the stages, unless the workers run them by now.
    #[inline(never)]
    fn run_block(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        self.in_block = 0;
        let Some(Published { none_left, free }) = output.publish_gathered_quietly() else { return false };
        let drained = none_left && shared.together() && self.stages.run();
        shared.took_turn();
        shared.signal.notify_progress();
        // The stages have made room since. To look again costs a lock, which most rings need not.
        if !drained || (free < self.block && !output.has_room_for(self.block)) {
            return self.leave_for_now(output, shared, room);
        }
        if self.in_window < WINDOW {
            return true;
        }
        let now = self.end_window();
        self.stages.settle(now, true);
        if self.ways.is_here() {
            return true;
        }
        self.gathers = false;
        leave(output, shared, room)
    }

    /// Publishes what is gathered, and leaves the stages to the workers for now. Returns false if the run takes no more
    /// values.
    fn leave_for_now(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        if !self.ways.is_here() {
            return true;
        }
        self.gathers = false;
        let now = Instant::now();
        (self.in_window, self.since) = (0, now);
        self.stages.settle(now, true);
        self.ways.part(now);
        leave(output, shared, room)
    }
}

impl<T: Item> Turns<T> for Quick<T> {
    #[inline]
    fn publish(&mut self, value: T, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        self.in_window += 1;
        if !self.gathers {
            let published = publish(value, output, shared, room);
            // If it is not to compare, it runs the stages from the next value on.
            if self.in_window >= WINDOW || !self.ways.compares() {
                self.passed(output, shared);
            }
            return published;
        }
        self.in_block += 1;
        let mut value = Some(value).into_iter();
        if self.gathered.give(&mut value, 1) != Sent::Some(1) {
            // What is gathered waits for the mark of a change.
            let goes_on = self.leave_for_now(output, shared, room);
            return goes_on && value.next().is_none_or(|value| publish(value, output, shared, room));
        }
        let gathers = self.in_block < self.block && shared.still_together() && !shared.stopped();
        gathers || self.run_block(output, shared, room)
    }

    fn part(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>) {
        self.leave_for_now(output, shared, room);
    }
}

/// Leaves the stages to the workers, and waits until there was room for everything that is gathered.
fn leave<T: Item>(output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
    shared.end_together();
    let none_left = || match output.publish_gathered() {
        None => Some(false),
        Some(true) => Some(true),
        Some(false) => None,
    };
    let goes_on = shared.wait_for_if(none_left, room);
    shared.signal.notify_progress();
    goes_on == Some(true)
}
