//! Seven cheap stages between a source and a sink; and the same on a thread each, with crossbeam's channels between
//! them, of single items and of `Vec`s of 1024.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(5_000_000, 1_000_000);
    let cases = setting.ring_cases().into_iter().map(|(case, rings)| at(setting, case, &rings, n));
    cases.collect::<Result<Vec<_>, _>>().map(Results::joined)
}

fn at(setting: &Setting, case: &'static str, rings: &Rings, n: u64) -> Result<Results, Failure> {
    let expected = fused(n);
    let rival =
        |shown, who, size| setting.rivals.contestant(shown, expected, Task { workload: "chain7", who, items: n, size });
    let mut contestants = vec![Contestant::new("ours", expected, || ours(rings, n))];
    contestants.push(Contestant::new("fused", expected, || Ok(fused(black_box(n)))));
    contestants.extend(rival("crossbeam", "crossbeam", 1024));
    contestants.extend(rival("crossbeam-vec1024", "crossbeam-vec", 64));
    let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios =
        [speeds.ratio("crossbeam", Some(20.0)), speeds.ratio("crossbeam-vec1024", None), speeds.ratio("fused", None)];
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>()
        .map(|x| work::stage(0, *x))
        .map(|x| work::stage(1, *x))
        .map(|x| work::stage(2, *x))
        .map(|x| work::stage(3, *x))
        .map(|x| work::stage(4, *x))
        .map(|x| work::stage(5, *x))
        .map(|x| work::stage(6, *x));
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run((&p).from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop, which the compiler vectorises.
#[inline(never)]
fn fused(n: u64) -> u64 {
    let staged = |x| (0..7).fold(x, |x, i| work::stage(i, x));
    (0..n).fold(0, |sum, x| sum.wrapping_add(staged(x)))
}
