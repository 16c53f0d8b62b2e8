//! The time until a parked reader sees a value that was sent to it; the time of a round trip if both sides wait for
//! each other; and the cost of each wait strategy, in time and in processor time.

mod strategies;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results};
use crate::latency::{Quantile, Waiter, compare};
use crate::rivals::Task;
use crate::setting::Setting;
use millstream::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

const WAKES: [Quantile; 2] = [Quantile { case: "p50", of: 0.50 }, Quantile { case: "p99", of: 0.99 }];
const TRIPS: [Quantile; 2] = [Quantile { case: "trip-p50", of: 0.50 }, Quantile { case: "trip-p99", of: 0.99 }];

/// A round trip is two hops, each of which takes less than a microsecond. In nanoseconds.
const TWO_HOPS: f64 = 2000.0;
/// A value that comes alone is not held back for others.
const TEN_MILLISECONDS: f64 = 1e7;

/// Long enough for a worker to have parked. The rivals' program pauses as long.
const PAUSE: Duration = Duration::from_millis(1);

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let rings = setting.rings(1);
    let n = setting.items(1000, 200);
    let rival = |shown_as, who, items| setting.rivals.waiter(shown_as, Task { workload: "wake", who, items, size: 0 });
    let mut waking = vec![Waiter::new("ours", || wakes(&rings, n, || PAUSE))];
    waking.extend(rival("crossbeam", "crossbeam", n));
    let mut woken = compare(setting, &WAKES, waking)?;
    woken.ratios.extend(within(&woken.figures, WAKES[1].case, "ten-milliseconds", TEN_MILLISECONDS));
    let trips = n * 50;
    let mut trying = vec![Waiter::new("ours", || round_trips(&rings, trips))];
    trying.extend(rival("condvar", "condvar", trips));
    let mut tried = compare(setting, &TRIPS, trying)?;
    tried.ratios.extend(within(&tried.figures, TRIPS[0].case, "two-microseconds", TWO_HOPS));
    Ok(Results::joined([woken, tried, strategies::run(setting)?]))
}

/// The limit in nanoseconds over our waits.
fn within(figures: &[Figure], case: &'static str, who: &'static str, limit: f64) -> Option<Ratio> {
    let ours = figures.iter().find(|figure| figure.case == case && figure.who == "ours")?;
    Some(Ratio::new(case, who, ours.samples.iter().map(|wait| limit / wait).collect(), Some(1.0)))
}

/// The times from before a send to the sink, whose worker has waited for `pause`.
fn wakes(rings: &Rings, n: u64, mut pause: impl FnMut() -> Duration) -> Result<Vec<u64>, Failure> {
    let note = |all: &mut Vec<u64>, _, sent: &Instant| all.push(sent.elapsed().as_nanos() as u64);
    let (sender, receiver) = source::channel(4096);
    let run = rings.start(pipeline::<Instant>().from(receiver).to_fold(Vec::new(), note))?;
    for _ in 0..n {
        thread::sleep(pause());
        if sender.send(Instant::now()).is_err() {
            break;
        }
    }
    drop(sender);
    Ok(run.wait()?.0)
}

/// The times from a send to the sink, which then wakes the sender.
fn round_trips(rings: &Rings, n: u64) -> Result<Vec<u64>, Failure> {
    let (arrived, caller) = (Arc::new(AtomicU64::new(0)), thread::current());
    let answered = arrived.clone();
    let answer = move |_: &mut (), _, trip: &u64| {
        answered.store(*trip, Ordering::Release);
        caller.unpark();
    };
    let (sender, receiver) = source::channel(4096);
    let run = rings.start(pipeline::<u64>().from(receiver).to_fold((), answer))?;
    let mut trips = Vec::new();
    for trip in 1..=n {
        let started = Instant::now();
        if sender.send(trip).is_err() {
            break;
        }
        while arrived.load(Ordering::Acquire) < trip {
            thread::park();
        }
        trips.push(started.elapsed().as_nanos() as u64);
    }
    drop(sender);
    run.wait()?;
    Ok(trips)
}
