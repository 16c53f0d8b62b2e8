//! Two shards of a map that takes a microsecond, on two workers; and the same on one. The output must be in order.
//!
//! The limit is two threads that do half of the numbers each without communication. If it is not twice as fast as one
//! worker, the machine did not have two free cores.

use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;
use std::ops::Range;
use std::time::Instant;

/// The time that the map should take.
const NANOSECONDS: f64 = 1000.0;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(100_000, 40_000);
    setting.progress.say("calibrating the rounds of a microsecond");
    let rounds = rounds_in(NANOSECONDS);
    let expected = looped(0..n, rounds);
    let contestants = vec![
        Contestant::new("ours", expected, || sharded(2, &setting.rings(2), n, rounds)),
        Contestant::new("one-worker", expected, || sharded(1, &setting.rings(1), n, rounds)),
        Contestant::new("limit", expected, || halves(black_box(n), rounds)),
        Contestant::new("fused", expected, || Ok(looped(0..black_box(n), rounds))),
    ];
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("one-worker", Some(1.8)), speeds.ratio("limit", None), speeds.ratio("fused", None)];
    let mut results = speeds.results(ratios);
    results.figures.push(Figure::new("map", "limit", vec![nanoseconds(rounds)], Unit::Nanoseconds));
    Ok(results)
}

/// The pipeline with `k` shards.
fn sharded(k: usize, rings: &Rings, n: u64, rounds: u32) -> Result<u64, Failure> {
    let p = pipeline::<u64>().shard(k, move |p| p.map(move |x| work(*x, rounds)));
    let join = |sum: &mut u64, _, x: &u64| *sum = joined(*sum, *x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, join))?.0)
}

#[inline(never)]
fn looped(numbers: Range<u64>, rounds: u32) -> u64 {
    numbers.fold(0, |sum, x| joined(sum, work(x, rounds)))
}

/// Each half of the numbers on its own thread. The checksums are joined at the end.
fn halves(n: u64, rounds: u32) -> Result<u64, Failure> {
    let middle = n / 2;
    let second = std::thread::Builder::new().spawn(move || looped(middle..n, rounds));
    let second = second.map_err(Failure::io("a thread"))?;
    let first = looped(0..middle, rounds);
    let second = second.join().expect("no overflow, no index: nothing panics");
    let shift = (middle..n).fold(1_u64, |power, _| power.wrapping_mul(31));
    Ok(first.wrapping_mul(shift).wrapping_add(second))
}

/// A checksum that depends on the order.
fn joined(sum: u64, x: u64) -> u64 {
    sum.wrapping_mul(31).wrapping_add(x)
}

/// This many rounds of xorshift.
fn work(x: u64, rounds: u32) -> u64 {
    let mut x = x | 1 << 63;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// The number of rounds that take about this time on this machine.
fn rounds_in(wanted: f64) -> u32 {
    let some = 1000;
    (f64::from(some) * wanted / nanoseconds(some)).ceil() as u32
}

/// The time of the map: the minimum of many tries, each so short that few are interrupted.
fn nanoseconds(rounds: u32) -> f64 {
    let calls = 100;
    let tries = (0..1000).map(|_| {
        let started = Instant::now();
        black_box(looped(0..black_box(calls), black_box(rounds)));
        started.elapsed().as_secs_f64() * 1e9 / calls as f64
    });
    tries.min_by(f64::total_cmp).unwrap_or(NANOSECONDS)
}
