//! A source whose values come fast: its thread gathers them, and runs the stages after every block.
//!
//! To hand a value to a worker costs a lock and the way of some cache lines to another core: more than a cheap stage
//! does with it. So where values come fast, both ways are tried: the workers run the stages, or the thread runs them
//! itself after every [`BLOCK`] values. The faster way is kept for a [while](REST).
//!
//! A value that none follows must come out too. While the thread runs the stages, a worker looks every 200 microseconds
//! whether it still does. If not, the source waits: the worker publishes what is gathered, and takes the stages back.
//! So the last values before a pause may come out half a millisecond late, if thousands came fast before them.

use super::Output;
use super::thread::{Turns, publish};
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
/// The workers have their speed after this many windows: rings have filled up behind a slow stage.
const SETTLE: u32 = 8;
/// Values come fast if one takes at most this long.
const FAST: Duration = Duration::from_micros(1);
/// Both ways are compared again after this time, and then each time after twice as long, up to the longest.
const REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(2);
/// A value of more bytes is not moved once more.
const MOST_BYTES: usize = 256;

/// Decides which thread runs the stages.
#[derive(Debug)]
struct Pace {
    way: Way,
    /// Whether the thread runs them in any case.
    always_here: bool,
    /// How many windows pass before one is measured.
    unsettled: u32,
    /// The beginning of the window.
    since: Instant,
    /// The time of the next comparison, and how long it is after the last one.
    next: Instant,
    rest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The workers run the stages.
    Apart,
    /// The thread runs them; in a comparison with the time that a window took with the workers.
    Here { against: Option<Duration> },
}

impl Pace {
    fn new(always_here: bool, now: Instant) -> Self {
        Pace { way: Way::Apart, always_here, unsettled: SETTLE, since: now, next: now, rest: REST }
    }

    fn is_here(&self) -> bool {
        matches!(self.way, Way::Here { .. })
    }

    fn go(&mut self, way: Way) {
        self.unsettled = if way == Way::Apart { SETTLE } else { 1 };
        self.way = way;
    }

    /// The end of a window.
    fn passed(&mut self, now: Instant) {
        let took = now.duration_since(self.since);
        self.since = now;
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        let is_due = now >= self.next;
        match self.way {
            Way::Apart if is_due && took <= FAST * WINDOW => self.go(Way::Here { against: Some(took) }),
            Way::Apart => {}
            Way::Here { against: Some(apart) } => {
                self.next = now + self.rest;
                self.rest = LONGEST_REST.min(2 * self.rest);
                if took > apart {
                    self.go(Way::Apart);
                } else {
                    self.way = Way::Here { against: None };
                }
            }
            Way::Here { against: None } if is_due || took > 2 * FAST * WINDOW => self.go(Way::Apart),
            Way::Here { against: None } => {}
        }
    }

    /// The workers have to run the stages for now.
    fn part(&mut self, now: Instant) {
        self.since = now;
        self.next = now + REST;
        self.go(Way::Apart);
    }
}

/// The means by which the thread of a source passes values that come fast.
pub(crate) struct Quick<T: Item> {
    pace: Pace,
    stages: StagesHere,
    gathered: Sender<T>,
    /// The most values of a block.
    block: usize,
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
        let pace = Pace::new(on == StagesOn::Source, Instant::now());
        Some(Quick { pace, stages, gathered, block, in_block: 0, in_window: 0 })
    }

    /// The end of a window in which the workers ran the stages.
    #[cold]
    fn passed(&mut self, shared: &Shared) {
        let now = Instant::now();
        (self.in_block, self.in_window) = (0, 0);
        if self.pace.always_here {
            self.pace.go(Way::Here { against: None });
        } else {
            self.pace.passed(now);
        }
        if self.pace.is_here() {
            self.stages.settle(now, false);
            shared.begin_together(true);
        }
    }

    /// Publishes what is gathered and runs the stages, unless the workers run them by now.
    #[inline(never)]
    fn run_block(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        self.in_block = 0;
        let Some(published) = output.try_publish_gathered() else { return false };
        let drained = published && shared.together() && self.stages.run();
        shared.took_turn();
        shared.signal.notify_progress();
        if !drained {
            return self.leave_for_now(output, shared, room);
        }
        if self.in_window < WINDOW {
            return true;
        }
        let now = Instant::now();
        self.in_window = 0;
        self.stages.settle(now, true);
        if !self.pace.always_here {
            self.pace.passed(now);
        }
        self.pace.is_here() || leave(output, shared, room)
    }

    /// Publishes what is gathered, and leaves the stages to the workers for now. Returns false if the run takes no more
    /// values.
    fn leave_for_now(&mut self, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        if !self.pace.is_here() {
            return true;
        }
        let now = Instant::now();
        self.in_window = 0;
        self.stages.settle(now, true);
        self.pace.part(now);
        leave(output, shared, room)
    }
}

impl<T: Item> Turns<T> for Quick<T> {
    #[inline]
    fn publish(&mut self, value: T, output: &Output<T>, shared: &Shared, room: Option<&Condition>) -> bool {
        self.in_window += 1;
        if !self.pace.is_here() {
            let published = publish(value, output, shared, room);
            if self.in_window >= WINDOW || self.pace.always_here {
                self.passed(shared);
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
    let none_left = || match output.try_publish_gathered() {
        None => Some(false),
        Some(true) => Some(true),
        Some(false) => None,
    };
    let goes_on = shared.wait_for_if(none_left, room);
    shared.signal.notify_progress();
    goes_on == Some(true)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// Passes windows of this many nanoseconds a value, apart and here, and returns how many were here.
    fn windows(pace: &mut Pace, now: &mut Instant, count: u32, apart: u32, here: u32) -> u32 {
        (0..count).fold(0, |sum, _| {
            let is_here = pace.is_here();
            *now += Duration::from_nanos(if is_here { here } else { apart }.into()) * WINDOW;
            pace.passed(*now);
            sum + u32::from(is_here)
        })
    }

    #[test]
    fn the_faster_way_is_kept_and_compared_again() {
        let mut now = Instant::now();
        let mut pace = Pace::new(false, now);
        assert_eq!(windows(&mut pace, &mut now, SETTLE + 1, 100, 60), 0);
        assert!(pace.is_here());
        // It stays here, except while both ways are compared.
        let here = windows(&mut pace, &mut now, 20_000, 100, 60);
        assert!((19_500..20_000).contains(&here), "{here}");
        assert_eq!(pace.rest, LONGEST_REST);
        // Then the stages become dear.
        let here = windows(&mut pace, &mut now, 20_000, 100, 160);
        assert!((0..5_000).contains(&here), "{here}");
        let here = windows(&mut pace, &mut now, 20_000, 100, 160);
        assert!((1..100).contains(&here), "{here}");
    }

    #[test]
    fn slow_values_are_handed_over() {
        let mut now = Instant::now();
        let mut pace = Pace::new(false, now);
        assert_eq!(windows(&mut pace, &mut now, 1000, 1001, 10), 0);
        windows(&mut pace, &mut now, 1, 1000, 1000);
        assert!(pace.is_here());
        windows(&mut pace, &mut now, 2, 0, 1000);
        assert!(pace.is_here(), "no slower");
        windows(&mut pace, &mut now, 1, 0, 2001);
        assert!(!pace.is_here());
    }

    #[test]
    fn after_a_pause_of_the_source_values_are_handed_over_for_a_while() {
        let mut now = Instant::now();
        let mut pace = Pace::new(false, now);
        windows(&mut pace, &mut now, SETTLE + 3, 100, 60);
        assert!(pace.is_here());
        pace.part(now);
        assert!(!pace.is_here());
        let before = REST.as_nanos() as u32 / (100 * WINDOW) - 1;
        assert_eq!(windows(&mut pace, &mut now, before, 100, 60), 0);
        assert!(windows(&mut pace, &mut now, SETTLE + 3, 100, 60) > 0);
    }
}
