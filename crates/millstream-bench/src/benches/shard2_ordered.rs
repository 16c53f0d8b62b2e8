//! A map of 1.2 microseconds on two shards, in order; and the same in rayon, with chunks of numbers.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(1_000_000, 200_000);
    let expected = fused(n);
    let rings = setting.rings(2);
    let rayon = Task { workload: "shard2-ordered", who: "rayon", items: n, size: 65_536 };
    let mut contestants = vec![Contestant::new("ours", expected, || ours(&rings, n))];
    contestants.push(Contestant::new("fused", expected, || Ok(fused(black_box(n)))));
    contestants.extend(setting.rivals.contestant("rayon-chunks64k", expected, rayon));
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratios = [speeds.ratio("rayon-chunks64k", Some(1.0)), speeds.ratio("fused", None)];
    Ok(speeds.results(ratios))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().shard(2, |p| p.map(|x| work::rounds(*x, work::ROUNDS)));
    let join = |sum: &mut u64, _, x: &u64| *sum = work::joined(*sum, *x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, join))?.0)
}

#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).fold(0, |sum, x| work::joined(sum, work::rounds(x, work::ROUNDS)))
}
