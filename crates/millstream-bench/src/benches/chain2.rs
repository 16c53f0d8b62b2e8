//! Two chained maps of `u64` on one worker.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(50_000_000, 10_000_000);
    let (rings, expected) = (setting.rings(1), fused(n));
    let contestants = vec![
        Contestant::new("ours", expected, || ours(&rings, n)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n)))),
    ];
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("fused", Some(0.90));
    Ok(speeds.results([ratio]))
}

fn ours(rings: &Rings, n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().map(|x| x.wrapping_mul(3).wrapping_add(1)).map(|x| x ^ (x >> 7));
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run((&p).from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop, which the compiler vectorises.
#[inline(never)]
fn fused(n: u64) -> u64 {
    let mut sum = 0_u64;
    for x in 0..n {
        let y = x.wrapping_mul(3).wrapping_add(1);
        sum = sum.wrapping_add(y ^ (y >> 7));
    }
    sum
}
