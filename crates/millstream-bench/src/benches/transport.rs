//! One producer of random longs, and one, three or five consumers: a bounded queue with a lock, as `ArrayBlockingQueue`
//! is, and rings. Consumers share the work, or each of them sees all of it. On rings, consumers that see all read one
//! ring. With queues, each of them has its own, and the producer puts every batch into all queues.
//!
//! An item is an event that was sent, and consumed by all consumers that are to see it. Every contestant holds the same
//! number of events, receives them in batches of the same size, and allocates nothing meanwhile. Case `single` is the
//! experiment that this bench repeats, one event at a time. The others have batches of 8, 64 and 256. Case `small`
//! holds 1024 events and the others 65,536: so small a ring is always in the other core's cache. The longs are drawn
//! beforehand, since drawing takes longer than the hand-over. Consumers of rings are tasklets of as many workers as
//! improve throughput, the library's default; `one-worker` and `spread` have one and two. Case `traffic` has a load of
//! its own.

mod queue;
mod timeline;
mod traffic;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::core::SplitMix64;
use millstream::exec::{Rate, TooMany};
use millstream::prelude::*;
use queue::{queued, queued_by_all};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The capacity of the rings of `three-to-one`. Case `small` has fewer slots.
const CAPACITY: usize = 65_536;
const SMALL: usize = 1024;
/// The limit of the time that a stop takes.
const STOP: Duration = Duration::from_millis(200);
/// The time that a poll waits.
const POLL: Duration = Duration::from_millis(100);
/// The ratios of three and of five consumers that share the work to one.
const SHARED: [(&str, [(usize, &str); 2]); 2] = [
    ("rings, on as many workers as improve throughput", [(3, "share-3"), (5, "share-5")]),
    ("the queue", [(3, "queue-share-3"), (5, "queue-share-5")]),
];
/// The seed's ring moves more than three times as much as its queue.
const OVER_QUEUE: Option<f64> = Some(3.0);
static RANDOMS: LazyLock<Vec<u64>> = LazyLock::new(|| {
    let mut random = SplitMix64::new(0);
    (0..4096).map(|_| random.draw()).collect()
});

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(64_000_000, 8_000_000);
    let timelines = if setting.plotted { timeline::run(setting)? } else { Vec::new() };
    Ok(Results::joined([
        in_batches(setting, n)?,
        of_one(setting, "batch-8", Batches { n: n.div_ceil(8), batch: 8 }, CAPACITY, OVER_QUEUE)?,
        of_one(setting, "batch-256", Batches { n, batch: 256 }, CAPACITY, None)?,
        of_one(setting, "single", Batches { n: n.div_ceil(32), batch: 1 }, CAPACITY, Some(10.0))?,
        of_one(setting, "small", Batches { n: n.div_ceil(4), batch: 64 }, SMALL, None)?,
        traffic::run(setting)?,
        stops(setting)?,
        Results { timelines, ..Results::default() },
    ]))
}

/// This pipeline with one more consumer that sees every event: it adds the sum of their values to `$seen`.
macro_rules! with_consumer {
    ($p:expr, $seen:expr) => {{
        let seen = Arc::clone($seen);
        let at_end = move |sum: u64| seen.fetch_add(sum, Ordering::Relaxed);
        $p.tee(|p| p.fold(0_u64, |sum, x| *sum = sum.wrapping_add(mixed(x)), at_end))
    }};
}

fn in_batches(setting: &Setting, n: u64) -> Result<Results, Failure> {
    let (rings, batch) = (setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY)), 64);
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 4 };
    let expected = sum_of(n);
    let of_mixed = (Batches { n, batch }).each().flatten().fold(0_u64, |sum, x| sum.wrapping_add(mixed(x)));
    let to_all = |consumers: u64| of_mixed.wrapping_mul(consumers);
    let ours = |who, consume: fn(&Rings, Batches) -> Result<u64, Failure>| {
        let rings = rings.clone();
        Contestant::new(who, expected, move || consume(&rings, Batches { n, batch }))
    };
    let ours_by_all = |who, consumers, consume: fn(&Rings, Batches, &Arc<AtomicU64>) -> Result<u64, Failure>| {
        let rings = rings.clone();
        Contestant::new(who, expected.wrapping_add(to_all(consumers)), move || {
            let seen = Arc::new(AtomicU64::new(0));
            let sum = consume(&rings, Batches { n, batch }, &seen)?;
            Ok(sum.wrapping_add(seen.load(Ordering::Relaxed)))
        })
    };
    let contestants = vec![
        ours("ours", polled),
        ours("ours-share-3", |rings, what| shared_by_number(rings, 3, what)),
        ours("ours-share-5", |rings, what| shared_by_number(rings, 5, what)),
        ours("ours-one-worker-3", |rings, what| shared_by_number(&rings.clone().workers(1), 3, what)),
        ours("ours-spread-3", |rings, what| shared_by_number(&rings.clone().workers(2), 3, what)),
        ours_by_all("ours-all-1", 1, |rings, what, seen| summed(with_consumer!(pipeline::<u64>(), seen), rings, what)),
        ours_by_all("ours-all-3", 3, |rings, what, seen| {
            let p = with_consumer!(pipeline::<u64>(), seen);
            summed(with_consumer!(with_consumer!(p, seen), seen), rings, what)
        }),
        ours_by_all("ours-all-5", 5, |rings, what, seen| {
            let p = with_consumer!(with_consumer!(pipeline::<u64>(), seen), seen);
            let p = with_consumer!(with_consumer!(p, seen), seen);
            summed(with_consumer!(p, seen), rings, what)
        }),
        Contestant::new("queue", expected, || queued(1, Batches { n, batch }, CAPACITY)),
        Contestant::new("queue-share-3", expected, || queued(3, Batches { n, batch }, CAPACITY)),
        Contestant::new("queue-share-5", expected, || queued(5, Batches { n, batch }, CAPACITY)),
        Contestant::new("queue-all-1", to_all(1), || queued_by_all(1, Batches { n, batch }, CAPACITY)),
        Contestant::new("queue-all-3", to_all(3), || queued_by_all(3, Batches { n, batch }, CAPACITY)),
        Contestant::new("queue-all-5", to_all(5), || queued_by_all(5, Batches { n, batch }, CAPACITY)),
    ];
    let speeds = take_turns(setting, work, contestants)?;
    let pair = |ours, theirs, name, bound| speeds.pair([ours, theirs], name, bound);
    let ratios = [
        speeds.ratio("queue", OVER_QUEUE),
        pair("ours-share-3", "ours", "share-3", Some(0.5)),
        pair("ours-share-5", "ours", "share-5", Some(0.5)),
        pair("ours-one-worker-3", "ours", "one-worker-3", None),
        pair("ours-spread-3", "ours", "spread-3", None),
        pair("ours-all-1", "queue-all-1", "all-1-queue", Some(5.0)),
        pair("ours-all-3", "queue-all-3", "all-3-queue", Some(5.0)),
        pair("ours-all-5", "queue-all-5", "all-5-queue", Some(5.0)),
        pair("ours-all-3", "ours-all-1", "all-3", None),
        pair("ours-all-5", "ours-all-1", "all-5", None),
        pair("queue", "queue-share-3", "queue-1-over-3", Some(1.0)),
        pair("queue", "queue-share-5", "queue-1-over-5", Some(1.0)),
        pair("queue-share-3", "queue", "queue-share-3", None),
        pair("queue-share-5", "queue", "queue-share-5", None),
        pair("queue-all-3", "queue-all-1", "queue-all-3", None),
        pair("queue-all-5", "queue-all-1", "queue-all-5", None),
    ];
    let results = speeds.results(ratios);
    Ok(Results { notes: advice(&results.ratios), ..results })
}

/// The library's advice on contestants that differ in nothing but the number of consumers that share the work. The rate
/// of one consumer is 1: ratios are of pairs in one turn, so they are steadier than the quotients of medians.
fn advice(ratios: &[Ratio]) -> Vec<String> {
    let of = |(what, shares): &(&str, [(usize, &str); 2])| {
        let rate = |(consumers, who): &(usize, &str)| {
            let ratio = ratios.iter().find(|ratio| ratio.who == *who)?;
            Some(Rate::new(*consumers, ratio.median))
        };
        let rates: Vec<_> = [Rate::new(1, 1.0)].into_iter().chain(shares.iter().filter_map(rate)).collect();
        TooMany::of(&rates).map(|found| format!("consumers of {what}: {found}"))
    };
    SHARED.iter().filter_map(of).collect()
}

/// One consumer, on rings and on the queue.
fn of_one(
    setting: &Setting,
    case: &'static str,
    what: Batches,
    capacity: usize,
    bound: Option<f64>,
) -> Result<Results, Failure> {
    let Batches { n, batch } = what;
    let expected = sum_of(n);
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(capacity));
    let mut contestants = vec![
        Contestant::new("ours", expected, || polled(&rings, what)),
        Contestant::new("queue", expected, || queued(1, what, capacity)),
    ];
    if batch == 1 {
        contestants.push(Contestant::new("queue-share-3", expected, || queued(3, what, capacity)));
        contestants.push(Contestant::new("queue-share-5", expected, || queued(5, what, capacity)));
    }
    let speeds = take_turns(setting, Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 4 }, contestants)?;
    let ratios = [speeds.ratio("queue", bound)];
    Ok(speeds.results(ratios))
}

/// The number of longs, and the size of the batches.
#[derive(Clone, Copy)]
struct Batches {
    n: u64,
    batch: usize,
}

impl Batches {
    /// Random longs, the same ones over and over.
    fn each(self) -> impl Iterator<Item = &'static [u64]> + Send {
        let mut left = self.n as usize;
        let batches = std::iter::repeat(RANDOMS.as_slice()).flat_map(move |randoms| randoms.chunks(self.batch));
        batches.map_while(move |batch| {
            let batch = &batch[..left.min(batch.len())];
            left -= batch.len();
            (!batch.is_empty()).then_some(batch)
        })
    }

    fn send(self, sender: &Sender<u64>) -> bool {
        self.each().all(|batch| match batch {
            [one] => sender.send(*one).is_ok(),
            batch => sender.send_slice(batch).is_ok(),
        })
    }
}

fn sum_of(n: u64) -> u64 {
    Batches { n, batch: 4096 }.each().flatten().fold(0, |sum, x| sum.wrapping_add(*x))
}

/// The value of an event for a consumer that sees all, which depends on every bit.
#[inline]
fn mixed(x: &u64) -> u64 {
    x.rotate_left(7) ^ 0x5555
}

fn polled(rings: &Rings, what: Batches) -> Result<u64, Failure> {
    let (mut senders, mut poller) = fan_in(1).open(rings)?;
    std::thread::scope(|scope| {
        let sender = senders.pop();
        let send = move || sender.is_some_and(|sender| what.send(&sender));
        std::thread::Builder::new().spawn_scoped(scope, send).map_err(Failure::io("a thread"))?;
        Ok(poller.fold(0_u64, |sum, _, x| *sum = sum.wrapping_add(x))?)
    })
}

fn shared_by_number(rings: &Rings, consumers: usize, what: Batches) -> Result<u64, Failure> {
    summed(pipeline::<u64>().shard(consumers, |p| p.map(|x| *x)), rings, what)
}

/// The sum of the outputs of this pipeline, fed by a thread.
fn summed<P: RunsOn<Rings, Item = u64> + Arrow<In = Val<u64>, Out = Val<u64>>>(
    p: P,
    rings: &Rings,
    what: Batches,
) -> Result<u64, Failure> {
    let (mut senders, poller) = fan_in(1).open(rings)?;
    let run = rings.start(p.from(poller).to_fold(0_u64, |sum, _, x| *sum = sum.wrapping_add(*x)))?;
    let sender = senders.pop();
    let send = move || sender.is_some_and(|sender| what.send(&sender));
    std::thread::Builder::new().spawn(send).map_err(Failure::io("a thread"))?;
    Ok(run.wait()?.0)
}

/// The time to stop a consumer that polls with a time-out, and to stop a run. Both are parked on empty rings.
fn stops(setting: &Setting) -> Result<Results, Failure> {
    let (mut polls, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..setting.turns() {
        let (senders, mut poller) = fan_in::<u64>(3).open(&setting.rings)?;
        let consumer = std::thread::Builder::new()
            .spawn(move || while !matches!(poller.poll_for(POLL, |_, _| ()), Err(_) | Ok(Polled::Ended)) {})
            .map_err(Failure::io("a thread"))?;
        let (senders_of_run, poller) = fan_in(3).open(&setting.rings)?;
        let run = setting.rings.start(pipeline::<u64>().from(poller).to_each(|_, _| ()))?;
        std::thread::sleep(POLL / 2);
        polls.push(seconds(|| {
            drop(senders);
            let _ = consumer.join();
            Ok(())
        })?);
        runs.push(seconds(|| {
            run.stop_now()?;
            Ok(())
        })?);
        drop(senders_of_run);
    }
    let within =
        |who, stops: &[f64]| Ratio::new("stop", who, stops.iter().map(|s| STOP.as_secs_f64() / s).collect(), Some(1.0));
    let ratios = vec![within("poll-200ms", &polls), within("run-200ms", &runs)];
    let figure =
        |who, stops: Vec<f64>| Figure::new("stop", who, stops.iter().map(|s| s * 1e9).collect(), Unit::Nanoseconds);
    Ok(Results { figures: vec![figure("ours-poll", polls), figure("ours", runs)], ratios, ..Results::default() })
}

fn seconds(stop: impl FnOnce() -> Result<(), Failure>) -> Result<f64, Failure> {
    let started = Instant::now();
    stop()?;
    Ok(started.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_is_by_the_ratios_of_pairs() {
        let ratios = [("share-3", 0.97), ("share-5", 0.96), ("queue-share-3", 0.96), ("queue-share-5", 0.68)]
            .map(|(who, median)| Ratio::new("speed", who, vec![median], None));
        assert_eq!(advice(&ratios), ["consumers of the queue: 5 move 68% of what 1 moves: use 1"]);
    }
}
