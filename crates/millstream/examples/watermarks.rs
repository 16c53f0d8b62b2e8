//! A watermark for each sensor: the mean and the peaks of every ten seconds, of sensors whose clocks disagree.
//!
//! One sensor sends at once, another one hours later, when its station has a connection. With one watermark for all,
//! the fast ones would make the slow ones late. Each sensor therefore has its own, and a reading is late by those of
//! its sensor alone. Windows take late readings for a while, and are output again.
//!
//! `cargo run --release -p millstream --example watermarks [READINGS]`

#![allow(clippy::print_stdout, reason = "an example prints its results")]

use millstream::core::SplitMix64;
use millstream::prelude::*;

const SENSORS: u64 = 50;

#[derive(Clone, Copy, Debug)]
struct Reading {
    sensor: u64,
    /// In milliseconds.
    time: u64,
    value: i64,
}

/// The state of ten seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Summary {
    readings: i64,
    sum: i64,
    peaks: Top<i64>,
}

impl Summary {
    fn new() -> Self {
        Summary { readings: 0, sum: 0, peaks: Top::new(3) }
    }

    fn add(&mut self, reading: &Reading) {
        self.readings += 1;
        self.sum += reading.value;
        self.peaks.push(reading.value);
    }
}

type Result = FoldedWindow<Summary, u64>;

fn summaries() -> impl Pipeline<Reading, Result> {
    let ten_seconds = Window::tumbling(10_000).lateness(500).refine_within(5_000).watermark_by_key();
    pipeline::<Reading>()
        .fold_windows_by(|r| r.sensor, ten_seconds, |r| r.time, Summary::new(), Summary::add)
        .named("summaries")
        .flatten()
        .named("results")
}

/// Readings in the order in which they arrive. Each sensor is late by its own hours, and each reading by some more
/// milliseconds, a few by seconds.
fn readings(count: u64) -> impl Iterator<Item = Reading> + Send {
    let mut random = SplitMix64::new(7);
    (0..count).map(move |n| {
        let drawn = random.draw();
        let sensor = drawn % SENSORS;
        let behind = if (drawn >> 8).is_multiple_of(200) { (drawn >> 20) % 20_000 } else { (drawn >> 20) % 500 };
        let now = 3_600_000 * (SENSORS - sensor) + 20_000 + 20 * n;
        Reading { sensor, time: now - behind, value: (drawn >> 40) as i64 % 1000 - 300 }
    })
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let count = std::env::args().nth(1).map_or(Ok(1_000_000), |readings| readings.parse())?;
    let results = Rings::new().collect(summaries().from(readings(count)))?;
    let refined = results.iter().filter(|result| result.timing == Timing::Refined).count();
    let dropped: u64 = results.iter().map(|result| result.dropped).sum();
    println!("{count} readings, {} results, {refined} of them refined, {dropped} readings too late", results.len());
    if let Some(last) = results.last() {
        let Summary { readings, sum, peaks } = &last.state;
        println!("sensor {}: mean {}, peaks {:?}", last.key, sum / (*readings).max(1), peaks.as_slice());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The last summary of each sensor and ten seconds, and the number of readings that were too late.
    type Summaries = (BTreeMap<(u64, u64), Summary>, u64);

    fn by_plain_loop(readings: &[Reading]) -> Summaries {
        let (mut summaries, mut greatest, mut late) = (BTreeMap::new(), BTreeMap::new(), 0);
        for reading in readings {
            let (start, last) = (reading.time / 10_000 * 10_000, greatest.entry(reading.sensor).or_insert(0));
            if start + 10_000 + 5_000 + 500 <= *last {
                late += 1;
            } else {
                summaries.entry((reading.sensor, start)).or_insert_with(Summary::new).add(reading);
            }
            *last = reading.time.max(*last);
        }
        (summaries, late)
    }

    #[test]
    fn summaries_are_those_of_a_plain_loop() {
        let readings: Vec<Reading> = readings(200_000).collect();
        let results = Rings::new().workers(2).collect(summaries().from(readings.clone())).unwrap();
        assert_eq!(results, summaries().model(readings.clone()));
        let dropped: u64 = results.iter().map(|result| result.dropped).sum();
        assert!(results.iter().any(|result| result.timing == Timing::Refined) && dropped > 50);
        // A refined result replaces the one before.
        let results = results.into_iter().filter(|result| result.state.readings > 0);
        let last: BTreeMap<_, _> = results.map(|result| ((result.key, result.start), result.state)).collect();
        assert_eq!((last, dropped), by_plain_loop(&readings));
    }
}
