//! One producer of random longs, and one, three or five consumers: a bounded queue behind a lock, as `ArrayBlockingQueue` is,
//! and rings. Consumers share the work, or each of them sees all of it.
//!
//! An item is an event that was sent and consumed by all who are to consume it. Everybody holds as many events, is offered them
//! in batches of the same size, and allocates nothing on the way. Case `single` is the experiment that this repeats: an event at
//! a time.

mod queue;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use queue::queued;
use std::time::{Duration, Instant};

const CAPACITY: usize = 1024;
const BATCH: usize = 64;
/// A stop may take so long.
const STOP: Duration = Duration::from_millis(200);
/// And a poll waits so long.
const POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(8_000_000, 1_000_000);
    Ok(Results::joined([in_batches(setting, n)?, one_by_one(setting, n.div_ceil(8))?, stops(setting)?]))
}

fn in_batches(setting: &Setting, n: u64) -> Result<Results, Failure> {
    let expected = randoms(n).fold(0, u64::wrapping_add);
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY)).batch(BATCH);
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let ours = |who, consume: fn(&Rings, u64) -> Result<u64, Failure>| {
        let rings = rings.clone();
        Contestant::new(who, expected, move || consume(&rings, n))
    };
    let contestants = vec![
        ours("ours", polled),
        ours("ours-share-3", |rings, n| shared_by_number(rings, 3, n)),
        ours("ours-share-5", |rings, n| shared_by_number(rings, 5, n)),
        ours("ours-all-1", |rings, n| summed(pipeline::<u64>().tee(|p| p.map(mixed)), rings, n)),
        ours("ours-all-3", |rings, n| {
            let p = pipeline::<u64>().tee(|p| p.map(mixed)).tee(|p| p.map(mixed)).tee(|p| p.map(mixed));
            summed(p, rings, n)
        }),
        ours("ours-all-5", |rings, n| {
            let p = pipeline::<u64>().tee(|p| p.map(mixed)).tee(|p| p.map(mixed)).tee(|p| p.map(mixed));
            summed(p.tee(|p| p.map(mixed)).tee(|p| p.map(mixed)), rings, n)
        }),
        Contestant::new("queue", expected, || queued(1, BATCH, n)),
        Contestant::new("queue-share-3", expected, || queued(3, BATCH, n)),
        Contestant::new("queue-share-5", expected, || queued(5, BATCH, n)),
    ];
    let speeds = take_turns(setting, work, contestants)?;
    let pair = |ours, theirs, name, bound| speeds.ratio_between(&[ours], &[theirs], name, bound);
    let ratios = [
        pair("ours", "queue", "queue", Some(10.0)),
        pair("ours-share-3", "ours", "share-3", Some(0.5)),
        pair("ours-share-5", "ours", "share-5", Some(0.5)),
        pair("queue-share-3", "queue", "queue-share-3", None),
        pair("queue-share-5", "queue", "queue-share-5", None),
    ];
    let notes = ratios.iter().flatten().filter_map(advice).collect();
    Ok(Results { notes, ..speeds.results(ratios) })
}

/// In words, where more consumers move less.
fn advice(shared: &Ratio) -> Option<String> {
    let (of, consumers) = shared.who.rsplit_once("share-")?;
    let whom = if of.is_empty() { "rings" } else { "the queue" };
    let part = 100.0 * shared.median;
    (shared.median < 1.0).then(|| {
        format!("{consumers} consumers of {whom} move {part:.0}% of what 1 moves: more of them make this work slower")
    })
}

fn one_by_one(setting: &Setting, n: u64) -> Result<Results, Failure> {
    let expected = randoms(n).fold(0, u64::wrapping_add);
    let rings = setting.rings.clone().ring(setting.ring.unwrap_or(CAPACITY));
    let contestants = vec![
        Contestant::new("ours", expected, || sent_singly(&rings, n)),
        Contestant::new("queue", expected, || queued(1, 1, n)),
        Contestant::new("queue-share-3", expected, || queued(3, 1, n)),
        Contestant::new("queue-share-5", expected, || queued(5, 1, n)),
    ];
    let work = Work { case: "single", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("queue", None)];
    Ok(speeds.results(ratios))
}

/// So many random longs: xorshift.
fn randoms(n: u64) -> impl Iterator<Item = u64> + Send {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    (0..n).map(move |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// What a consumer that sees everything makes of an event, so that it has to look at it.
#[inline]
fn mixed(x: &u64) -> u64 {
    x.rotate_left(7) ^ 0x5555
}

fn polled(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let (mut senders, mut poller) = fan_in(1).open(rings)?;
    let mut sum = 0_u64;
    std::thread::scope(|scope| {
        let sender = senders.pop();
        let send = move || sender.map(|sender| sender.send_all(randoms(n)));
        std::thread::Builder::new().spawn_scoped(scope, send).map_err(Failure::io("a thread"))?;
        poller.for_each(|_, x| sum = sum.wrapping_add(x))?;
        Ok(sum)
    })
}

fn sent_singly(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let (mut senders, mut poller) = fan_in(1).open(rings)?;
    let mut sum = 0_u64;
    std::thread::scope(|scope| {
        let sender = senders.pop();
        let send = move || sender.map(|sender| randoms(n).try_for_each(|x| sender.send(x)));
        std::thread::Builder::new().spawn_scoped(scope, send).map_err(Failure::io("a thread"))?;
        poller.for_each(|_, x| sum = sum.wrapping_add(x))?;
        Ok(sum)
    })
}

fn shared_by_number(rings: &Rings, consumers: usize, n: u64) -> Result<u64, Failure> {
    summed(pipeline::<u64>().shard(consumers, |p| p.map(|x| *x)), rings, n)
}

/// The sum of what comes out of this pipeline, fed by a thread.
fn summed<P: Run<u64> + Arrow<In = Val<u64>, Out = Val<u64>>>(p: P, rings: &Rings, n: u64) -> Result<u64, Failure> {
    let (mut senders, run) = p.start_fan_in(rings, fan_in(1), 0_u64, |sum, _, x| *sum = sum.wrapping_add(*x))?;
    let sender = senders.pop();
    let send = move || sender.map(|sender| sender.send_all(randoms(n)).is_ok());
    std::thread::Builder::new().spawn(send).map_err(Failure::io("a thread"))?;
    Ok(run.wait()?.0)
}

/// How long it takes to stop a consumer that polls with a time-out, and a run: both parked on idle rings.
fn stops(setting: &Setting) -> Result<Results, Failure> {
    let (mut polls, mut runs) = (Vec::new(), Vec::new());
    for _ in 0..setting.turns() {
        let (senders, mut poller) = fan_in::<u64>(3).open(&setting.rings)?;
        let consumer = std::thread::Builder::new()
            .spawn(move || while !matches!(poller.poll_for(POLL, |_, _| ()), Err(_) | Ok(Polled::Ended)) {})
            .map_err(Failure::io("a thread"))?;
        let (senders_of_run, run) = pipeline::<u64>().start_fan_in(&setting.rings, fan_in(3), (), |(), _, _| ())?;
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
