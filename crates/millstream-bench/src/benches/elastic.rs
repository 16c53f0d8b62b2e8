//! A stage whose load is a square wave, with fixed numbers of shards and with a number that follows the load.
//!
//! `seconds` is the time until the last item is out: items are due at their times, and a stage that cannot follow is
//! late. `shards` is the mean number of shards over that time, which are held whether they work or not. The bounds: not
//! more than a tenth slower than the fastest fixed number, and fewer shards than the largest.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::{Effort, Setting};
use millstream::exec::{Elastic, Handle, Sender};
use millstream::prelude::*;
use std::thread;
use std::time::{Duration, Instant};

/// The time of an item.
const WORK: Duration = Duration::from_micros(20);

/// Items a second in the low and in the high half of the wave: a fifth of a shard, and 1.2 shards.
const RATES: [u64; 2] = [10_000, 60_000];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let most = thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
    let half = match setting.effort {
        _ if setting.items.is_some() => 1,
        Effort::Quick => 4,
        _ => 8,
    };
    let half = Duration::from_secs(half);
    let ways = [("one", Some(1)), ("largest", Some(most)), ("ours", None)];
    let mut seen = [const { (Vec::new(), Vec::new()) }; 3];
    let mut notes = Vec::new();
    for turn in 0..setting.turns().min(3) {
        for ((who, fixed), (seconds, shards)) in ways.iter().zip(&mut seen) {
            setting.progress.say(&format!("turn {} of {who}", turn + 1));
            let wave = wave(setting, *fixed, most, half)?;
            seconds.push(wave.seconds);
            shards.push(wave.shards);
            if fixed.is_none() {
                notes.push(format!("decisions: {}", wave.decisions.join("; ")));
            }
        }
    }
    let [(one, _), (largest, held), (ours, held_by_ours)] = &seen;
    let by_turn = |of: &dyn Fn(usize) -> f64| (0..ours.len()).map(of).collect::<Vec<_>>();
    let fastest = by_turn(&|turn| one[turn].min(largest[turn]) / ours[turn]);
    let fewer = by_turn(&|turn| held[turn] / held_by_ours[turn]);
    let ratios = vec![
        Ratio::new("seconds", "best-fixed", fastest, Some(0.9)),
        Ratio::new("shards", "largest", fewer, Some(1.0)),
    ];
    let figures = ways.iter().zip(&seen).flat_map(|((who, _), (seconds, shards))| {
        [
            Figure::new("seconds", who, seconds.clone(), Unit::Seconds),
            Figure::new("shards", who, shards.clone(), Unit::Cores),
        ]
    });
    Ok(Results { figures: figures.collect(), ratios, notes, ..Results::default() })
}

/// What a run of the wave took.
struct Wave {
    seconds: f64,
    shards: f64,
    decisions: Vec<String>,
}

fn work(shards: usize) -> impl Pipeline<u64, u64> {
    pipeline::<u64>().shard(shards, |p| {
        p.map(|x| {
            let since = Instant::now();
            while since.elapsed() < WORK {
                std::hint::spin_loop();
            }
            *x
        })
        .named("work")
    })
}

fn wave(setting: &Setting, fixed: Option<usize>, most: usize, half: Duration) -> Result<Wave, Failure> {
    let (sender, receiver) = source::channel(1024);
    let begun = Instant::now();
    let first = fixed.unwrap_or(1);
    let add = |sum: &mut u64, _: SequenceNumber, x: &u64| *sum += x;
    let run: Handle<u64> = setting.rings.clone().start(work(first).from(receiver).to_fold(0, add))?;
    let elastic = fixed.is_none().then(|| run.elastic(Elastic::of("work", 1..=most), work));
    let elastic = elastic.transpose().map_err(Failure::io("a thread"))?;
    let fed = thread::spawn(move || feed(&sender, half));
    // The shards that there are, every few milliseconds.
    let (mut looks, mut held) = (0, 0);
    while !fed.is_finished() {
        let plan = run.observer();
        held += plan.plan().stages.first().map_or(1, |stage| stage.tasklets);
        looks += 1;
        thread::sleep(Duration::from_millis(5));
    }
    let items = fed.join().map_err(|_| Failure::Threads("the feeder has panicked"))?;
    if let Some(elastic) = elastic {
        elastic.finish()?;
    }
    let (sum, report) = run.wait()?;
    let expected = items * (items - 1) / 2;
    if sum != expected {
        return Err(Failure::Checksum { who: "ours", expected: expected.to_string(), got: sum.to_string() });
    }
    let decisions = report.changes.iter().filter_map(|change| change.reason.clone()).collect();
    Ok(Wave { seconds: begun.elapsed().as_secs_f64(), shards: held as f64 / f64::from(looks.max(1)), decisions })
}

/// Sends two periods of the wave, item by item as they are due. Returns how many.
fn feed(sender: &Sender<u64>, half: Duration) -> u64 {
    let mut sent = 0;
    for rate in [RATES[0], RATES[1], RATES[0], RATES[1]] {
        let (begun, first) = (Instant::now(), sent);
        let all = (half.as_secs_f64() * rate as f64) as u64;
        while sent < first + all {
            let due = first + ((begun.elapsed().as_secs_f64() * rate as f64) as u64).min(all);
            if sender.send_all(sent..due).is_err() {
                return sent;
            }
            sent = due;
            thread::sleep(Duration::from_micros(200));
        }
    }
    sent
}
