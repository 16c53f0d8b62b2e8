//! Another pipeline replaces a running one: the pause of its stages, the delay of the output, and the time until the
//! new version's first output.
//!
//! The pipeline has 100 MB of keyed state, which the new version takes over: the sum of all counts must be right, and
//! the new version must have made every output from its number on. Items are due at a steady rate, and an
//! item's latency begins when it is due, so a pause counts for every item that it delays. The limit of `pause` is a
//! millisecond. `p99` is that of the items that are due in the 100 ms from the call of `upgrade` on, and its limit is
//! twice `p99-before`: the median of the p99s of the ten times 100 ms before. One disturbance of the machine in that
//! second would raise the p99 of all of it, and with that the limit.
//!
//! `first-output` is the time from the call of `upgrade` to the first output of the new version, if a tenth or nine
//! tenths of the slots before a stage that takes two microseconds an item are full. The items before the mark go
//! through the old version: their time at the stage's speed is the figure's limit.

use crate::failure::{Failure, checked};
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use millstream::exec::{Handle, Sender};
use millstream::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// The bytes of a key's state, in words.
const WORDS: usize = 12;

/// The items that are due in a second, for two seconds.
const RATE: u64 = 1_000_000;

/// The longest pause of a stage.
const PAUSE: f64 = 1e-3;

/// The time after the call of `upgrade` in which latencies count.
const DURING: Duration = Duration::from_millis(100);

/// How many times that long before the call are compared with it: less than the time for which items have come then.
const BEFORE: u64 = 10;

/// The time of an item at the slow stage.
const SLOW: Duration = Duration::from_micros(2);

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (mut pauses, mut switches) = (Vec::new(), Vec::new());
    let (mut before, mut during) = (Vec::new(), Vec::new());
    let goes = setting.turns();
    for go in 0..goes {
        setting.progress.say(&format!("upgrade {} of {goes}", go + 1));
        let seen = keyed(setting)?;
        pauses.push(seen.pause);
        switches.push(seen.switched_in);
        before.push(seen.before);
        during.push(seen.during);
    }
    let nanoseconds = |samples: &[f64]| samples.iter().map(|seconds| seconds * 1e9).collect::<Vec<_>>();
    let within = before.iter().zip(&during).map(|(before, during)| 2.0 * before / during).collect();
    let mut figures = vec![
        Figure::new("pause", "ours", nanoseconds(&pauses), Unit::Nanoseconds),
        Figure::new("switched-in", "ours", nanoseconds(&switches), Unit::Nanoseconds),
        Figure::new("p99-before", "ours", nanoseconds(&before), Unit::Nanoseconds),
        Figure::new("p99", "ours", nanoseconds(&during), Unit::Nanoseconds),
    ];
    let ratios = vec![
        Ratio::new("pause", "limit", pauses.iter().map(|pause| PAUSE / pause).collect(), Some(1.0)),
        Ratio::new("p99", "limit", within, Some(1.0)),
    ];
    for (case, share) in [("first-output-10", 0.1), ("first-output-90", 0.9)] {
        let waits = (0..goes).map(|_| first_output(setting, share)).collect::<Result<Vec<_>, _>>()?;
        let (ours, limits): (Vec<f64>, Vec<f64>) = waits.into_iter().unzip();
        figures.push(Figure::new(case, "ours", nanoseconds(&ours), Unit::Nanoseconds));
        figures.push(Figure::new(case, "limit", nanoseconds(&limits), Unit::Nanoseconds));
    }
    Ok(Results { figures, ratios, ..Results::default() })
}

/// The times of a replacement of the keyed pipeline, in seconds.
struct Seen {
    pause: f64,
    switched_in: f64,
    before: f64,
    during: f64,
}

/// The outputs of the keyed pipeline.
#[derive(Default)]
struct Outputs {
    /// The sum of their counts.
    sum: u64,
    /// How many the new version made.
    newer: u64,
    /// When an item was due, and how long it took from then on.
    waits: Vec<(u64, u64)>,
}

/// When an item was due, in nanoseconds since the start, and its key.
#[derive(Clone, Copy)]
struct Due {
    at: u64,
    key: u64,
}

/// When each item was due, how often its key has come, and the version that made the output.
fn counts(version: u64) -> impl Pipeline<Due, (u64, u64, u64)> {
    pipeline::<Due>()
        .shard_by_within(
            Bound::refuse(2_000_000),
            |due| due.key,
            1,
            |p| {
                p.scan([0_u64; WORDS], |counts, due: &Due| {
                    let count = &mut counts[(due.key % WORDS as u64) as usize];
                    *count += 1;
                    (due.at, *count)
                })
                .named("counts")
            },
        )
        .named("keys")
        .map(move |(at, count)| (*at, *count, version))
}

/// The key of a paced item.
fn key(n: u64, keys: u64) -> u64 {
    n * 7919 % keys
}

/// The sum of all counts: every key comes once, and then the paced items.
fn expected(keys: u64) -> u64 {
    let mut counts = vec![1; keys as usize];
    let paced = (0..2 * RATE).map(|n| {
        let count: &mut u64 = &mut counts[key(n, keys) as usize];
        *count += 1;
        *count
    });
    keys + paced.sum::<u64>()
}

fn keyed(setting: &Setting) -> Result<Seen, Failure> {
    let keys = setting.items(1_000_000, 1_000_000);
    let since = Instant::now();
    let now = move || since.elapsed().as_nanos() as u64;
    let record = move |all: &mut Outputs, _: SequenceNumber, (at, count, version): &(u64, u64, u64)| {
        all.sum += count;
        all.newer += u64::from(*version == 2);
        if *at > 0 {
            all.waits.push((*at, now() - at));
        }
    };
    let outputs = Outputs { waits: Vec::with_capacity(4_000_000), ..Outputs::default() };
    let (sender, receiver) = source::channel(1024);
    let run = setting.rings.clone().start(counts(1).from(receiver).to_fold(outputs, record))?;
    // Every key has its state before the clock begins.
    sender.send_all((0..keys).map(|key| Due { at: 0, key })).map_err(|_| Failure::Threads("the run has ended"))?;
    let paced = thread::spawn(move || pace(&sender, now, keys));
    thread::sleep(Duration::from_millis(1500));
    let called = now();
    let at = run.upgrade(counts(2))?;
    paced.join().map_err(|_| Failure::Threads("the sender has panicked"))?;
    let change = run.changes().pop().ok_or(Failure::Threads("the upgrade is not in the report"))?;
    let (Outputs { sum, newer, waits: all }, _) = run.wait()?;
    checked(expected(keys), sum)?;
    checked(keys + 2 * RATE - at.0, newer)?;
    let p99 = |from: u64, upto: u64| {
        let mut waits: Vec<_> = all.iter().filter(|(at, _)| (from..upto).contains(at)).map(|(_, wait)| *wait).collect();
        waits.sort_unstable();
        waits.get(waits.len() * 99 / 100).map_or(f64::NAN, |wait| *wait as f64 / 1e9)
    };
    let window = DURING.as_nanos() as u64;
    let mut before: Vec<_> = (1..=BEFORE).map(|n| called - n * window).map(|from| p99(from, from + window)).collect();
    before.sort_unstable_by(f64::total_cmp);
    Ok(Seen {
        pause: change.longest_pause().as_secs_f64(),
        switched_in: change.switched_in.as_secs_f64(),
        before: before[before.len() / 2],
        during: p99(called, called + window),
    })
}

/// Sends items at a steady rate for two seconds: every twenty microseconds, all that are due.
fn pace(sender: &Sender<Due>, now: impl Fn() -> u64, keys: u64) {
    let begun = now();
    let mut sent = 0;
    while sent < 2 * RATE {
        let due = ((now() - begun) * RATE / 1_000_000_000).min(2 * RATE);
        let items = (sent..due).map(|n| Due { at: begun + n * 1_000_000_000 / RATE, key: key(n, keys) });
        if sender.send_all(items).is_err() {
            return;
        }
        sent = due;
        thread::sleep(Duration::from_micros(20));
    }
}

/// A slow stage, which marks each output with its version.
fn slow(version: u64) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().map(|x| *x).map(move |_| {
        let since = Instant::now();
        while since.elapsed() < SLOW {
            std::hint::spin_loop();
        }
        version
    })
}

/// The seconds from the call to the new version's first output, and the seconds that the items before it take.
fn first_output(setting: &Setting, share: f64) -> Result<(f64, f64), Failure> {
    const SLOTS: usize = 1024;
    let [seen, newer, first] = std::array::from_fn(|_| Arc::new(AtomicU64::new(0)));
    let since = Instant::now();
    let (sees, marks, notes) = (seen.clone(), newer.clone(), first.clone());
    let sink = move |_: SequenceNumber, version: &u64| {
        sees.fetch_add(1, Ordering::Relaxed);
        if *version == 2 && marks.fetch_add(1, Ordering::Relaxed) == 0 {
            notes.store(since.elapsed().as_nanos() as u64, Ordering::Relaxed);
        }
    };
    let (sender, receiver) = source::channel(SLOTS);
    let rings = setting.rings.clone().ring(SLOTS);
    let run: Handle<()> = rings.start(slow(1).from(receiver).to_each(sink))?;
    // The ring of the source, and the ring after the first map.
    let wanted = (share * 2.0 * SLOTS as f64) as u64;
    let (called, before, at, sent) = thread::scope(|scope| {
        let feeder = scope.spawn(|| {
            let mut sent = 0;
            while first.load(Ordering::Relaxed) == 0 {
                let seen = seen.load(Ordering::Relaxed);
                let room = (seen + wanted).saturating_sub(sent);
                if sender.send_all(0..room).is_err() {
                    break;
                }
                sent += room;
                thread::sleep(Duration::from_micros(20));
            }
            sent
        });
        thread::sleep(Duration::from_millis(200));
        let (called, before) = (since.elapsed().as_nanos() as u64, seen.load(Ordering::Relaxed));
        let at = run.upgrade(slow(2));
        let sent = feeder.join().map_err(|_| Failure::Threads("the feeder has panicked"))?;
        Ok::<_, Failure>((called, before, at?.0, sent))
    })?;
    drop(sender);
    run.wait()?;
    checked(sent, seen.load(Ordering::Relaxed))?;
    checked(sent - at, newer.load(Ordering::Relaxed))?;
    let took = (first.load(Ordering::Relaxed) - called) as f64 / 1e9;
    Ok((took, (at - before) as f64 * SLOW.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_comes_three_times() {
        assert_eq!(expected(1_000_000), 1_000_000 * (1 + 2 + 3));
    }
}
