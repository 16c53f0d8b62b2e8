//! More keys, each with a running sum, on one worker; and a map of the standard library in a loop. Both curves bend
//! where the table outgrows a cache.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use hashbrown::HashMap;
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] = &[
    (10, "10"),
    (100, "100"),
    (1_000, "1k"),
    (10_000, "10k"),
    (100_000, "100k"),
    (1_000_000, "1M"),
    (10_000_000, "10M"),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let rings = setting.rings(1);
    let rings = &rings;
    let steps = places(setting, PLACES).map(|place| {
        let keys = place.0;
        let n = setting.items.unwrap_or(setting.items(2_000_000, 500_000).max(2 * keys));
        let p = pipeline::<u64>().shard_by(move |x| key(*x, keys), 1, |p| p.scan(0, |sum, x| step(sum, *x)));
        Step {
            place,
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n, keys),
            contestants: vec![
                ("ours", Box::new(move || summed(rings, &p, n)) as super::Run<'_>),
                ("fused", Box::new(move || Ok(fused(black_box(n), keys)))),
            ],
        }
    });
    curve(setting, steps)
}

/// Keys in an order that a processor cannot predict.
fn key(x: u64, keys: u64) -> u64 {
    (x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 24) % keys
}

fn step(sum: &mut u64, x: u64) -> u64 {
    *sum = sum.wrapping_add(x);
    *sum
}

#[inline(never)]
fn fused(n: u64, keys: u64) -> u64 {
    let mut sums = HashMap::new();
    (0..n).fold(0, |all: u64, x| all.wrapping_add(step(sums.entry(key(x, keys)).or_insert(0), x)))
}
