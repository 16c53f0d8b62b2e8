//! A fan-out into the number itself and whether it is even, and a sink that reads both halves.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(50_000_000, 10_000_000);
    let cases: Result<Vec<_>, _> =
        setting.ring_cases().into_iter().map(|(case, rings)| at(setting, case, &rings, n)).collect();
    cases.map(Results::joined)
}

fn at(setting: &Setting, case: &'static str, rings: &Rings, n: u64) -> Result<Results, Failure> {
    let expected = fused(n);
    let rival = |shown_as, who, size| {
        setting.rivals.contestant(shown_as, expected, Task { workload: "zip2", who, items: n, size })
    };
    let mut contestants = vec![Contestant::new("ours", expected, || ours(rings, n))];
    contestants.push(Contestant::new("fused", expected, || Ok(fused(black_box(n)))));
    contestants.extend(rival("crossbeam-vec1024", "crossbeam-vec", 64));
    contestants.extend(rival("disruptor-8192", "disruptor", 8192));
    contestants.extend(rival("disruptor-65536", "disruptor", 65_536));
    let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let rivals = ["crossbeam-vec1024", "disruptor-8192", "disruptor-65536"];
    let ratios = [speeds.ratio_as("best-rival", &rivals, Some(2.5)), speeds.ratio("fused", None)];
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| work::is_even(*x)));
    let add = |sum: &mut u64, _, (x, even): (&u64, &bool)| *sum = sum.wrapping_add(work::if_even(*x, *even));
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop, which the compiler vectorises.
#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add(work::if_even(x, work::is_even(x))))
}
