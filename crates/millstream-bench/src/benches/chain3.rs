//! A source, two cheap maps and a sink. They run on as many workers as improve throughput, on one, on two, on one
//! without batches, in one loop, and on a thread each with channels of `Vec`s between them.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(800_000_000, 400_000_000);
    let cases = setting.ring_cases().into_iter().map(|(case, rings)| at(setting, case, &rings, n));
    let cases = cases.chain([batches(setting, n / 20)]);
    cases.collect::<Result<Vec<_>, _>>().map(Results::joined)
}

/// One worker that moves whole batches, and one that moves one number at a time.
fn batches(setting: &Setting, n: u64) -> Result<Results, Failure> {
    let expected = fused(n);
    let (whole, single) = (setting.rings(1), setting.rings(1).batch(1));
    let contestants = vec![
        Contestant::new("ours", expected, || ours(&whole, n)),
        Contestant::new("batch-1", expected, || ours(&single, n)),
    ];
    let work = Work { case: "batch", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("batch-1", Some(10.0));
    Ok(speeds.results([ratio]))
}

fn at(setting: &Setting, case: &'static str, rings: &Rings, n: u64) -> Result<Results, Failure> {
    let expected = fused(n);
    let mut contestants = vec![Contestant::new("ours", expected, || ours(rings, n))];
    for (who, workers) in [("one-worker", 1), ("two-workers", 2)] {
        let rings = rings.clone().workers(workers);
        contestants.push(Contestant::new(who, expected, move || ours(&rings, n)));
    }
    contestants.push(Contestant::new("fused", expected, || Ok(fused(black_box(n)))));
    let vecs = Task { workload: "chain3", who: "crossbeam-vec", items: n, size: 64 };
    contestants.extend(setting.rivals.contestant("crossbeam-vec1024", expected, vecs));
    let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [
        speeds.ratio("crossbeam-vec1024", Some(1.2)),
        speeds.ratio_as("fixed-workers", &["one-worker", "two-workers"], Some(0.9)),
        speeds.ratio("one-worker", Some(0.95)),
        speeds.ratio("fused", None),
    ];
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().map(|x| work::first(*x)).map(|x| work::second(*x));
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run((&p).from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop, which the compiler vectorises.
#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add(work::second(work::first(x))))
}
