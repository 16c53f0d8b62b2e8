//! `filter_map`, then `map`, on one worker. One case keeps one number in three. The other case keeps the numbers whose
//! third bit is clear, which a loop can test several at a time.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let speed = case(setting, "speed", 0.5, |x| x.is_multiple_of(3))?;
    let bit = case(setting, "bit", 0.8, |x| x & 4 == 0)?;
    Ok(Results::joined([speed, bit]))
}

fn case(
    setting: &Setting,
    name: &'static str,
    bound: f64,
    keep: impl Fn(u64) -> bool + Copy + Send + Sync + 'static,
) -> Result<Results, Failure> {
    let n = setting.items(20_000_000, 5_000_000);
    let (rings, expected) = (setting.rings(1), fused(n, keep));
    let contestants = vec![
        Contestant::new("ours", expected, || ours(&rings, n, keep)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n), keep))),
    ];
    let work = Work { case: name, unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("fused", Some(bound));
    Ok(speeds.results([ratio]))
}

fn ours(rings: &Rings, n: u64, keep: impl Fn(u64) -> bool + Copy + Send + Sync + 'static) -> Result<u64, Failure> {
    let p = pipeline::<u64>().filter_map(move |x| keep(*x).then_some(*x)).map(|x| x ^ (x >> 7));
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run((&p).from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop.
#[inline(never)]
fn fused(n: u64, keep: impl Fn(u64) -> bool) -> u64 {
    let mut sum = 0_u64;
    for x in 0..n {
        if keep(x) {
            sum = sum.wrapping_add(x ^ (x >> 7));
        }
    }
    sum
}
