//! More shards of a map that takes about a microsecond, on two workers, in order. Beyond the cores, more shards are
//! more tasklets for the same work.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] = &[(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32"), (64, "64")];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (n, rings) = (setting.items(100_000, 40_000), setting.rings(2));
    let rings = &rings;
    let steps = places(setting, PLACES).map(|place| {
        let p = pipeline::<u64>().shard(place.0 as usize, |p| p.map(|x| work::rounds(*x, work::ROUNDS)));
        Step {
            place,
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n),
            contestants: vec![
                ("ours", Box::new(move || summed(rings, &p, n)) as super::Run<'_>),
                ("fused", Box::new(move || Ok(fused(black_box(n))))),
            ],
        }
    });
    curve(setting, steps)
}

#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add(work::rounds(x, work::ROUNDS)))
}
