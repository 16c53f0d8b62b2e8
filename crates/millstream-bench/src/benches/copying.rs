//! The copying workload: five or ten identities read one ring, and a map reads all of their halves. One worker.
//!
//! The map adds the halves up and mixes the bits of the sum, since the compiler knows the sum of the numbers below n
//! without adding them up.

use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use crate::memory::taken;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;

/// Items for the speed.
const MANY: u64 = 500_000_000;
const MANY_IN_A_HURRY: u64 = 50_000_000;
/// Items for the memory.
const SOME: u64 = 5_000_000;

pub(crate) fn five(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(MANY, MANY_IN_A_HURRY);
    let memory = memory(setting, five_way, fused::<5>)?;
    let (rings, expected) = (setting.rings(1), fused::<5>(n));
    let contestants = vec![
        Contestant::new("ours", expected, || five_way(&rings, n)),
        Contestant::new("fused", expected, || Ok(fused::<5>(black_box(n)))),
    ];
    let speeds = take_turns(setting, in_one_go(n), contestants)?;
    let ratio = speeds.ratio("fused", None);
    Ok(with(memory, speeds.results([ratio])))
}

pub(crate) fn ten(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(MANY, MANY_IN_A_HURRY);
    let memory = memory(setting, ten_way, fused::<10>)?;
    let rings = setting.rings(1);
    let (expected, of_five) = (fused::<10>(n), fused::<5>(n));
    let contestants = vec![
        Contestant::new("ours", expected, || ten_way(&rings, n)),
        Contestant::new("fused", expected, || Ok(fused::<10>(black_box(n)))),
        Contestant::new("copying5", of_five, || five_way(&rings, n)),
    ];
    let speeds = take_turns(setting, in_one_go(n), contestants)?;
    let ratios = [speeds.ratio("fused", Some(0.9)), speeds.ratio("copying5", Some(0.5))];
    Ok(with(memory, speeds.results(ratios)))
}

fn in_one_go(n: u64) -> Work {
    Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 }
}

fn with(mut memory: Vec<Figure>, speed: Results) -> Results {
    memory.extend(speed.figures);
    Results { figures: memory, ..speed }
}

/// The bytes that one run allocates, and the peak memory of its process.
fn memory(
    setting: &Setting,
    ours: fn(&Rings, u64) -> Result<u64, Failure>,
    fused: fn(u64) -> u64,
) -> Result<Vec<Figure>, Failure> {
    setting.progress.say("memory");
    let n = setting.items(SOME, SOME).min(SOME);
    let (got, taken) = taken(|| ours(&setting.rings(1), n))?;
    let expected = fused(n);
    if got != expected {
        return Err(Failure::Checksum { who: "ours", expected: expected.to_string(), got: got.to_string() });
    }
    let allocated = Figure::new("alloc", "ours", vec![taken.allocated as f64], Unit::Bytes);
    let peak = taken.peak.map(|peak| Figure::new("peak", "ours", vec![peak as f64], Unit::Bytes));
    Ok([Some(allocated), peak].into_iter().flatten().collect())
}

fn five_way(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>()
        .fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p))))
        .map(|(a, (b, (c, (d, e))))| mix([a, b, c, d, e]));
    summed(&p, rings, n)
}

fn ten_way(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>()
        .fanout(
            |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p)))),
            |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p.fanout(|p| p, |p| p)))),
        )
        .map(|((a, (b, (c, (d, e)))), (f, (g, (h, (i, j)))))| mix([a, b, c, d, e, f, g, h, i, j]));
    summed(&p, rings, n)
}

fn summed(
    p: &impl RunsOn<Rings, Item = u64, In = Val<u64>, Out = Val<u64>>,
    rings: &Rings,
    n: u64,
) -> Result<u64, Failure> {
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The last map: the mixed sum of all halves.
#[inline(always)]
fn mix<const WAYS: usize>(halves: [&u64; WAYS]) -> u64 {
    let sum = halves.into_iter().fold(0_u64, |sum, half| sum.wrapping_add(*half));
    sum ^ (sum >> 7)
}

/// The map in one loop, which the compiler vectorises.
#[inline(never)]
fn fused<const WAYS: usize>(n: u64) -> u64 {
    let mut sum = 0_u64;
    for x in 0..n {
        sum = sum.wrapping_add(mix([&x; WAYS]));
    }
    sum
}
