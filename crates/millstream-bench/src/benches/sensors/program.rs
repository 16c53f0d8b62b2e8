//! The program, as pipelines and as a loop.

use crate::work;
use hashbrown::HashMap;
use millstream::prelude::*;
use std::collections::VecDeque;
use std::iter::Peekable;

/// The number of readings in an average.
const WINDOW: usize = 20;
const SENSORS_OF_A_STATION: u64 = 50;

#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) time: u64,
    sensor: u32,
    value: f64,
}

/// An average, from the twentieth reading of a sensor on.
#[derive(Clone, Copy, Debug)]
struct Average {
    time: u64,
    sensor: u32,
    value: f64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Alarm {
    time: u64,
    sensor: u32,
    on: bool,
}

impl Alarm {
    /// Joins this alarm to the checksum of those before it.
    pub(super) fn joined(&self, all: u64) -> u64 {
        work::joined(all, self.time ^ u64::from(self.sensor) << 40 ^ u64::from(self.on) << 63)
    }
}

/// Switches on above one limit and off below another. Returns whether it switches.
fn switches(on: &mut bool, average: f64) -> bool {
    let before = std::mem::replace(on, average > if *on { 24.0 } else { 30.0 });
    before != *on
}

/// Readings of fifty sensors, in the order of time. Temperatures rise and fall slowly, below noise.
#[derive(Clone, Debug)]
pub(super) struct Station {
    first_sensor: u32,
    random: u64,
    time: u64,
    left: u64,
}

impl Iterator for Station {
    type Item = Reading;

    #[inline]
    fn next(&mut self) -> Option<Reading> {
        self.left = self.left.checked_sub(1)?;
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.time += self.random >> 62;
        let sensor = self.first_sensor + (((self.random & 0xffff_ffff) * SENSORS_OF_A_STATION) >> 32) as u32;
        let warm = if self.left & (1 << 14) == 0 { 20.0 } else { 30.0 };
        let noise = ((self.random >> 32) & 0x1fff) as f64 / 1024.0;
        Some(Reading { time: self.time, sensor, value: warm + noise })
    }
}

/// Three stations, which have `n` readings together.
pub(super) fn stations(n: u64) -> [Station; 3] {
    std::array::from_fn(|i| Station {
        first_sensor: i as u32 * SENSORS_OF_A_STATION as u32,
        random: 0x9e37_79b9_7f4a_7c15 + i as u64,
        time: 0,
        left: (n + i as u64) / 3,
    })
}

fn of(readings: &[Reading]) -> Average {
    let last = readings[WINDOW - 1];
    let sum: f64 = readings.iter().map(|reading| reading.value).sum();
    Average { time: last.time, sensor: last.sensor, value: sum / WINDOW as f64 }
}

fn alarm(on: &mut bool, average: &Average) -> Option<Alarm> {
    let Average { time, sensor, value } = *average;
    switches(on, value).then_some(Alarm { time, sensor, on: *on })
}

pub(super) fn scan() -> impl Pipeline<Reading, Alarm> {
    pipeline::<Reading>().shard_by(
        |reading| reading.sensor,
        1,
        |p| p.map_windows(WINDOW, of).scan(false, alarm).filter_map(|alarm| *alarm),
    )
}

pub(super) fn windows() -> impl Pipeline<Reading, Alarm> {
    pipeline::<Reading>().shard_by(
        |reading| reading.sensor,
        1,
        |p| p.windows(WINDOW).map(|readings| of(readings)).scan(false, alarm).filter_map(|alarm| *alarm),
    )
}

pub(super) fn feedback() -> impl Pipeline<Reading, Alarm> {
    pipeline::<Reading>().shard_by(
        |reading| reading.sensor,
        1,
        |p| {
            let alarms = p.map_windows(WINDOW, of).feedback(false, |p| {
                p.map(|(average, on)| {
                    let mut on = *on;
                    (alarm(&mut on, average), on)
                })
            });
            alarms.filter_map(|alarm| *alarm)
        },
    )
}

/// The same by hand: the next reading of each station, and a map of sensors. Returns the checksum of the alarms.
#[inline(never)]
pub(super) fn plain(n: u64) -> u64 {
    let mut stations: [Peekable<Station>; 3] = stations(n).map(Iterator::peekable);
    let mut sensors: HashMap<u32, (VecDeque<f64>, bool)> = HashMap::new();
    let mut alarms = 0;
    loop {
        let times = stations.iter_mut().enumerate().filter_map(|(i, station)| Some((station.peek()?.time, i)));
        let Some(Reading { time, sensor, value }) = times.min().and_then(|(_, first)| stations[first].next()) else {
            return alarms;
        };
        let (last, on) = sensors.entry(sensor).or_default();
        if last.len() == WINDOW {
            last.pop_front();
        }
        last.push_back(value);
        if last.len() == WINDOW && switches(on, last.iter().sum::<f64>() / WINDOW as f64) {
            alarms = Alarm { time, sensor, on: *on }.joined(alarms);
        }
    }
}
