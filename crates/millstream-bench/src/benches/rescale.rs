//! The number of shards of a keyed stage changes under load, from one to four and then to two: the longest time between
//! two outputs.
//!
//! Items are due at a steady rate. A gap counts for a change if it begins before the end of the half second after it;
//! `before` is the longest gap in the half second before the first one. `limit` is ten milliseconds. The new number of
//! lanes moves every key's state, so the pause grows with the number of keys: 100,000, with 10 MB of state, and in the
//! `large` cases a million, with 100 MB and without a limit. `moved` is the memory of the states that move, and `by-mb`
//! the gap from one to four for each megabyte of it.

use crate::failure::{Failure, checked};
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::Setting;
use millstream::exec::{Counters, Observer, Sender};
use millstream::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

const RATE: u64 = 100_000;
const WORDS: usize = 12;

/// The longest time between two outputs, in seconds.
const GAP: f64 = 10e-3;

/// The time around a change in which gaps count.
const AROUND: u64 = 500_000_000;

/// The amount of state that moves.
struct Size {
    keys: u64,
    /// The names of the figures of [`Seen`], in its order.
    figures: [&'static str; 6],
    /// Whether the gaps have a limit.
    limited: bool,
}

const SIZES: [Size; 2] = [
    Size {
        keys: 100_000,
        figures: ["gap-before", "gap-1-to-4", "gap-4-to-2", "pause", "moved", "by-mb"],
        limited: true,
    },
    Size {
        keys: 1_000_000,
        figures: [
            "large-gap-before",
            "large-gap-1-to-4",
            "large-gap-4-to-2",
            "large-pause",
            "large-moved",
            "large-by-mb",
        ],
        limited: false,
    },
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let results = SIZES.iter().map(|size| measured(setting, size)).collect::<Result<Vec<_>, _>>()?;
    Ok(Results::joined(results))
}

fn measured(setting: &Setting, size: &Size) -> Result<Results, Failure> {
    let mut seen = Vec::new();
    for turn in 0..setting.turns() {
        setting.progress.say(&format!("turn {} with {} keys", turn + 1, size.keys));
        seen.push(gaps(setting, size.keys)?);
    }
    let each = |of: Value| seen.iter().map(of).collect::<Vec<_>>();
    let all: [(Value, Unit); 6] = [
        (|seen| seen.before * 1e9, Unit::Nanoseconds),
        (|seen| seen.four * 1e9, Unit::Nanoseconds),
        (|seen| seen.two * 1e9, Unit::Nanoseconds),
        (|seen| seen.pause * 1e9, Unit::Nanoseconds),
        (|seen| seen.moved, Unit::Bytes),
        (|seen| seen.four * 1e9 / (seen.moved / 1e6), Unit::Nanoseconds),
    ];
    let figures = size.figures.into_iter().zip(all).map(|(case, (of, unit))| Figure::new(case, "ours", each(of), unit));
    let within = |case, of| Ratio::new(case, "limit", each(of), Some(1.0));
    let ratios = [within(size.figures[1], |seen| GAP / seen.four), within(size.figures[2], |seen| GAP / seen.two)];
    let ratios = ratios.into_iter().filter(|_| size.limited).collect();
    Ok(Results { figures: figures.collect(), ratios, ..Results::default() })
}

fn sums(keys: u64, k: usize) -> impl Pipeline<u64, u64> {
    let count = |counts: &mut [u64; WORDS], key: &u64| {
        counts[(key % WORDS as u64) as usize] += 1;
        counts.iter().sum::<u64>()
    };
    pipeline::<u64>()
        .shard_by_within(
            Bound::refuse(2 * keys as usize),
            |key| *key,
            k,
            move |p| p.scan([0_u64; WORDS], count).named("counts"),
        )
        .named("keys")
}

/// The measurements of a run, in seconds and bytes.
struct Seen {
    /// The longest gaps before the changes, after the first and after the second one.
    before: f64,
    four: f64,
    two: f64,
    /// The longest pause of a stage.
    pause: f64,
    moved: f64,
}

type Value = fn(&Seen) -> f64;

fn gaps(setting: &Setting, keys: u64) -> Result<Seen, Failure> {
    let since = Instant::now();
    let now = move || since.elapsed().as_nanos() as u64;
    let record = move |all: &mut (u64, Vec<u64>), _: SequenceNumber, count: &u64| {
        all.0 += count;
        all.1.push(now());
    };
    let (sender, receiver) = source::channel(1024);
    let times = Vec::with_capacity((keys + 4 * RATE) as usize);
    let run = setting.rings.clone().start(sums(keys, 1).from(receiver).to_fold((0, times), record))?;
    sender.send_all(0..keys).map_err(|_| Failure::Threads("the run has ended"))?;
    let paced = thread::spawn(move || pace(&sender, keys, now));
    let (mut asked, mut moved) = (Vec::new(), 0);
    for k in [4, 2] {
        thread::sleep(Duration::from_secs(1));
        moved = bytes_of_states(&run.observer());
        asked.push(now());
        run.upgrade(sums(keys, k))?;
    }
    paced.join().map_err(|_| Failure::Threads("the sender has panicked"))?;
    let pause = run.changes().iter().map(|change| change.longest_pause()).max().unwrap_or_default();
    let ((sum, times), _) = run.wait()?;
    // Every key comes once, and then the keys come in turn.
    let expected = keys + (0..3 * RATE).map(|n| n / keys + 2).sum::<u64>();
    checked(expected, sum)?;
    // The rest of each state's bytes is the table's overhead.
    let least = keys * (WORDS * size_of::<u64>()) as u64;
    checked(least, moved.min(least))?;
    let longest = |counts: &dyn Fn(u64, u64) -> bool| {
        let gaps = times.windows(2).filter(|two| counts(two[0], two[1]));
        gaps.map(|two| two[1] - two[0]).max().unwrap_or(0) as f64 / 1e9
    };
    // A gap that is longer than the time after the change counts, too.
    let after = |from: u64| longest(&|begins, ends| begins < from + AROUND && ends >= from);
    Ok(Seen {
        before: longest(&|_, ends| (asked[0].saturating_sub(AROUND)..asked[0]).contains(&ends)),
        four: after(asked[0]),
        two: after(asked[1]),
        pause: pause.as_secs_f64(),
        moved: moved as f64,
    })
}

/// The bytes of the keys' states, without the keys.
fn bytes_of_states(observer: &Observer) -> u64 {
    let mut counters = Counters::default();
    observer.read(&mut counters);
    let states = observer.tasklets().zip(&counters.tasklets).filter(|(tasklet, _)| tasklet.name == "counts");
    states.filter_map(|(_, counters)| counters.state_bytes).sum()
}

/// Sends keys in turn, at a steady rate for three seconds.
fn pace(sender: &Sender<u64>, keys: u64, now: impl Fn() -> u64) {
    let begun = now();
    let mut sent = 0;
    while sent < 3 * RATE {
        let due = ((now() - begun) * RATE / 1_000_000_000).min(3 * RATE);
        if sender.send_all((sent..due).map(|n| n % keys)).is_err() {
            return;
        }
        sent = due;
        thread::sleep(Duration::from_micros(50));
    }
}
