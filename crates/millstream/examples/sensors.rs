//! Readings of 150 sensors from three stations, in one stream by timestamp: an alarm where the moving average of a
//! sensor's last twenty readings goes above 30 degrees, and its end where the average falls to 24 or below.
//!
//! ```console
//! $ cargo run --release -p millstream --example sensors 100000 | head -3
//! ```

use millstream::core::SplitMix64;
use millstream::prelude::*;
use std::io::{self, BufWriter, Write};

const STATIONS: u64 = 3;
const SENSORS: u64 = 50;
const WINDOW: usize = 20;

#[derive(Clone, Copy, Debug)]
struct Reading {
    time: u64,
    sensor: u64,
    degrees: f64,
}

#[derive(Clone, Copy, Debug)]
struct Average {
    time: u64,
    sensor: u64,
    degrees: f64,
}

#[derive(Clone, Copy, Debug)]
struct Alarm {
    time: u64,
    sensor: u64,
    on: bool,
}

/// A station's readings in the order of time, here by chance: they rise and fall slowly, below noise.
fn station(station: u64, readings: u64) -> impl Iterator<Item = Reading> + Send + 'static {
    let (mut random, mut time) = (SplitMix64::new(station), 0);
    (0..readings).map(move |n| {
        time += random.below(4);
        let warm = if n / 5000 % 2 == 0 { 20.0 } else { 30.0 };
        let sensor = station * SENSORS + random.below(SENSORS);
        Reading { time, sensor, degrees: warm + random.below(8000) as f64 / 1000.0 }
    })
}

fn stations(readings: u64) -> impl Source<Reading> {
    let each = (0..STATIONS).map(|n| source::ready(station(n, readings)));
    source::by_timestamp(each, |reading: &Reading| reading.time)
}

/// The average of the last readings of one sensor.
fn average(last: &[Reading]) -> Average {
    let Reading { time, sensor, .. } = last[WINDOW - 1];
    let sum: f64 = last.iter().map(|reading| reading.degrees).sum();
    Average { time, sensor, degrees: sum / WINDOW as f64 }
}

/// Goes on above one limit, and off below a lower one: between the two, nothing changes.
fn switched(on: &mut bool, average: &Average) -> Option<Alarm> {
    let before = std::mem::replace(on, average.degrees > if *on { 24.0 } else { 30.0 });
    (before != *on).then_some(Alarm { time: average.time, sensor: average.sensor, on: *on })
}

/// Every sensor has a window and an alarm of its own. The alarms come in the order of the readings.
fn alarms(tasklets: usize) -> impl Pipeline<Reading, Alarm> {
    pipeline::<Reading>().shard_by(
        |reading| reading.sensor,
        tasklets,
        |sensor| sensor.map_windows(WINDOW, average).scan(false, switched).filter_map(|alarm| *alarm),
    )
}

fn write(out: &mut impl Write, Alarm { time, sensor, on }: &Alarm) -> io::Result<()> {
    writeln!(out, "{time} {sensor} {}", if *on { "on" } else { "off" })
}

fn main() -> Result<(), RunError> {
    let readings = std::env::args().nth(1).and_then(|n| n.parse().ok()).unwrap_or(1_000_000);
    let mut out = BufWriter::new(io::stdout());
    Rings::new().for_each(alarms(2).from(stations(readings)), move |_, alarm: &Alarm| write(&mut out, alarm))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same without a pipeline: all readings sorted, and every sensor's list by itself.
    fn expected(readings: u64) -> Vec<u8> {
        let mut all: Vec<(u64, Reading)> =
            (0..STATIONS).flat_map(|n| station(n, readings).map(move |r| (n, r))).collect();
        all.sort_by_key(|(station, reading)| (reading.time, *station));
        let mut lines: Vec<(usize, String)> = Vec::new();
        for sensor in 0..STATIONS * SENSORS {
            let own: Vec<(usize, f64)> = all
                .iter()
                .enumerate()
                .filter(|(_, (_, reading))| reading.sensor == sensor)
                .map(|(place, (_, reading))| (place, reading.degrees))
                .collect();
            let mut state = "off";
            for window in own.windows(20) {
                let degrees = window.iter().map(|(_, degrees)| degrees).sum::<f64>() / 20.0;
                let next = match state {
                    "off" if degrees > 30.0 => "on",
                    "on" if degrees <= 24.0 => "off",
                    _ => continue,
                };
                state = next;
                let place = window[19].0;
                lines.push((place, format!("{} {sensor} {state}\n", all[place].1.time)));
            }
        }
        lines.sort();
        lines.into_iter().flat_map(|(_, line)| line.into_bytes()).collect()
    }

    #[test]
    fn alarms_are_those_of_sorted_lists() {
        let expected = expected(20_000);
        assert!(expected.iter().filter(|byte| **byte == b'\n').count() > 300);
        let text = |alarms: &[Alarm]| {
            let mut text = Vec::new();
            alarms.iter().for_each(|alarm| write(&mut text, alarm).unwrap());
            text
        };
        for (workers, tasklets, ring) in [(1, 1, 4096), (2, 2, 64), (3, 5, 4096)] {
            let rings = Rings::new().workers(workers).ring(ring);
            assert_eq!(text(&rings.collect(alarms(tasklets).from(stations(20_000))).unwrap()), expected);
        }
        assert_eq!(text(&Inline::new(Rings::new()).collect(alarms(2).from(stations(20_000))).unwrap()), expected);
    }
}
