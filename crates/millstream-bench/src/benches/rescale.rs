//! The number of shards of a keyed stage changes under load, from one to four and then to two: the longest time between
//! two outputs.
//!
//! Items are due at a steady rate. A gap is measured in the half second after each change; `before` is the longest gap
//! in the half second before the first one. `limit` is ten milliseconds. The new number of lanes moves every key's
//! state, so the pause grows with the number of keys: here 100,000, with 10 MB of state.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use millstream::exec::Sender;
use millstream::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

const KEYS: u64 = 100_000;
const RATE: u64 = 100_000;
const WORDS: usize = 12;

/// The longest time between two outputs, in seconds.
const GAP: f64 = 10e-3;

/// Where gaps are looked for, around a change.
const AROUND: u64 = 500_000_000;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let mut seen: [Vec<f64>; 4] = Default::default();
    for turn in 0..setting.turns() {
        setting.progress.say(&format!("turn {}", turn + 1));
        for (all, value) in seen.iter_mut().zip(gaps(setting)?) {
            all.push(value);
        }
    }
    let [before, four, two, pause] = seen;
    let within = |gaps: &[f64]| gaps.iter().map(|gap| GAP / gap).collect();
    let nanoseconds = |gaps: &[f64]| gaps.iter().map(|gap| gap * 1e9).collect();
    Ok(Results {
        ratios: vec![
            Ratio::new("gap-1-to-4", "limit", within(&four), Some(1.0)),
            Ratio::new("gap-4-to-2", "limit", within(&two), Some(1.0)),
        ],
        figures: vec![
            Figure::new("gap-before", "ours", nanoseconds(&before), Unit::Nanoseconds),
            Figure::new("gap-1-to-4", "ours", nanoseconds(&four), Unit::Nanoseconds),
            Figure::new("gap-4-to-2", "ours", nanoseconds(&two), Unit::Nanoseconds),
            Figure::new("pause", "ours", nanoseconds(&pause), Unit::Nanoseconds),
        ],
        ..Results::default()
    })
}

fn sums(k: usize) -> impl Pipeline<u64, u64> {
    let count = |counts: &mut [u64; WORDS], key: &u64| {
        counts[(key % WORDS as u64) as usize] += 1;
        counts.iter().sum::<u64>()
    };
    pipeline::<u64>()
        .shard_by_within(
            Bound::refuse(2 * KEYS as usize),
            |key| *key,
            k,
            move |p| p.scan([0_u64; WORDS], count).named("counts"),
        )
        .named("keys")
}

/// The longest gaps before the changes, after the first and after the second one, and the longest pause of a stage.
fn gaps(setting: &Setting) -> Result<[f64; 4], Failure> {
    let since = Instant::now();
    let now = move || since.elapsed().as_nanos() as u64;
    let record = move |all: &mut (u64, Vec<u64>), _: SequenceNumber, count: &u64| {
        all.0 += count;
        all.1.push(now());
    };
    let (sender, receiver) = source::channel(1024);
    let times = Vec::with_capacity((KEYS + 4 * RATE) as usize);
    let run = setting.rings.clone().start(sums(1).from(receiver).to_fold((0, times), record))?;
    sender.send_all(0..KEYS).map_err(|_| Failure::Threads("the run has ended"))?;
    let paced = thread::spawn(move || pace(&sender, now));
    let mut asked = Vec::new();
    for k in [4, 2] {
        thread::sleep(Duration::from_secs(1));
        asked.push(now());
        run.upgrade(sums(k))?;
    }
    paced.join().map_err(|_| Failure::Threads("the sender has panicked"))?;
    let pause = run.changes().iter().map(|change| change.longest_pause()).max().unwrap_or_default();
    let ((sum, times), _) = run.wait()?;
    // Every key comes once, and then the keys come in turn.
    let rounds = 3 * RATE / KEYS + 1;
    let expected = KEYS * rounds * (rounds + 1) / 2;
    if sum != expected {
        return Err(Failure::Checksum { who: "ours", expected: expected.to_string(), got: sum.to_string() });
    }
    let longest = |from: u64| {
        let inside = times.windows(2).filter(|two| (from..from + AROUND).contains(&two[1]));
        inside.map(|two| two[1] - two[0]).max().unwrap_or(0) as f64 / 1e9
    };
    Ok([longest(asked[0].saturating_sub(AROUND)), longest(asked[0]), longest(asked[1]), pause.as_secs_f64()])
}

/// Sends keys in turn, at a steady rate for three seconds.
fn pace(sender: &Sender<u64>, now: impl Fn() -> u64) {
    let begun = now();
    let mut sent = 0;
    while sent < 3 * RATE {
        let due = ((now() - begun) * RATE / 1_000_000_000).min(3 * RATE);
        if sender.send_all((sent..due).map(|n| n % KEYS)).is_err() {
            return;
        }
        sent = due;
        thread::sleep(Duration::from_micros(50));
    }
}
