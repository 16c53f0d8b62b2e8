//! Watches a run under a changing load.

use crate::count::Count;
use crate::failure::Failure;
use crate::figure::Following;
use crate::load::{processor_time, thread_time};
use millstream::exec::{Activity, Counters, Handle, Sender};
use millstream::prelude::*;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// The time between two looks at the run.
const LOOK: Duration = Duration::from_millis(5);

/// The most moments to keep, and the least time between two.
const MOMENTS: f64 = 120.0;
const APART: f64 = 0.2;

/// Items a second, for some time each.
#[derive(Clone, Debug)]
pub(super) struct Load(pub(super) Vec<(u64, Duration)>);

impl Load {
    /// The items that are due at this time.
    fn due(&self, at: f64) -> f64 {
        let mut left = at;
        let parts = self.0.iter().map(|(rate, time)| {
            let within = left.clamp(0.0, time.as_secs_f64());
            left -= within;
            within * *rate as f64
        });
        parts.sum()
    }

    fn seconds(&self) -> f64 {
        self.0.iter().map(|(_, time)| time.as_secs_f64()).sum()
    }

    /// How late a run ended that took this long; at least the time between two looks.
    pub(super) fn late(&self, seconds: f64) -> f64 {
        (seconds - self.seconds()).max(LOOK.as_secs_f64())
    }

    fn items(&self) -> u64 {
        self.due(self.seconds()) as u64
    }

    /// Sends items when they are due, or later if the run takes them later. Returns the processor time of this thread.
    fn feed(&self, sender: &Sender<u64>) -> Duration {
        let (begun, all) = (Instant::now(), self.items());
        let mut sent = 0;
        while sent < all {
            let due = (self.due(begun.elapsed().as_secs_f64()) as u64).min(all);
            if sender.send_all(sent..due).is_err() {
                break;
            }
            sent = due;
            thread::sleep(Duration::from_micros(500));
        }
        thread_time()
    }
}

/// The costs of a run of a load.
pub(super) struct Live {
    /// Until the last item is out.
    pub(super) seconds: f64,
    /// The processor time of all threads of the run, in seconds, without the threads that send the load and that watch.
    pub(super) used: f64,
    /// The sum over all workers of the time for which they were not parked, in seconds.
    pub(super) held: f64,
    pub(super) following: Following,
    /// The times at which the number of shards changed, and the new numbers.
    pub(super) changes: Vec<(f64, usize)>,
    /// The reasons for the changes.
    pub(super) decisions: Vec<String>,
}

/// Counts the outputs; the checksum is their sum.
pub(super) fn sink(out: &Arc<Count>) -> impl FnMut(&mut u64, SequenceNumber, &u64) + Send + 'static {
    let out = out.clone();
    move |sum, _, x| {
        *sum += x;
        out.add(1);
    }
}

/// Watches a run of the stage `work`, which reads the items of `sender`, until it has processed the whole load; then
/// calls `end`.
pub(super) fn watched(
    (run, sender): (Handle<u64>, Sender<u64>),
    (case, load, out): (&'static str, &Load, &Count),
    end: impl FnOnce() -> Result<(), Failure>,
) -> Result<Live, Failure> {
    let (begun, used, own) = (Instant::now(), processor_time(), thread_time());
    let feeds = load.clone();
    let fed = thread::spawn(move || feeds.feed(&sender));
    let every = (load.seconds() / MOMENTS).max(APART);
    let mut following = Following { case, ..Following::default() };
    let (mut counters, mut changes, mut shards) = (Counters::default(), Vec::new(), shards(&run));
    let (mut held, mut looked) = (0.0, 0.0);
    let mut before = (0.0, 0, 0.0);
    while !run.observer().is_finished() {
        thread::sleep(LOOK);
        let now = begun.elapsed().as_secs_f64();
        run.observer().read(&mut counters);
        let awake = counters.workers.iter().filter(|activity| **activity != Activity::Parked).count();
        held += awake as f64 * (now - looked);
        looked = now;
        let present = self::shards(&run);
        if present != shards {
            shards = present;
            changes.push((now, shards));
        }
        let (then, gone, was_held) = before;
        if now - then >= every {
            let (time, count) = (now - then, out.get());
            let offered = (load.due(now) - load.due(then)) / time;
            following.push(now, [offered, (count - gone) as f64 / time, (held - was_held) / time], shards);
            before = (now, count, held);
        }
    }
    let feeder = fed.join().map_err(|_| Failure::Threads("the feeder has panicked"))?;
    end()?;
    let (sum, report) = run.wait()?;
    let (items, seconds) = (load.items(), begun.elapsed().as_secs_f64());
    let expected = items * (items - 1) / 2;
    if sum != expected {
        return Err(Failure::Checksum { who: "ours", expected: expected.to_string(), got: sum.to_string() });
    }
    let used = processor_time().saturating_sub(used + feeder + thread_time().saturating_sub(own)).as_secs_f64();
    let decisions = report.changes.iter().filter_map(|change| change.reason.clone()).collect();
    Ok(Live { seconds, used, held, following, changes, decisions })
}

fn shards(run: &Handle<u64>) -> usize {
    let observer = run.observer();
    observer.plan().stages.iter().find(|stage| stage.name == "work").map_or(1, |stage| stage.tasklets)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_due_is_the_sum_of_the_parts_until_then() {
        let load = Load(vec![(100, Duration::from_secs(2)), (400, Duration::from_secs(1))]);
        assert_eq!([0.0, 1.0, 2.0, 2.5, 9.0].map(|at| load.due(at)), [0.0, 100.0, 200.0, 400.0, 600.0]);
        assert_eq!((load.items(), load.seconds()), (600, 3.0));
        assert_eq!((load.late(5.0), load.late(3.0)), (2.0, 0.005));
    }
}
