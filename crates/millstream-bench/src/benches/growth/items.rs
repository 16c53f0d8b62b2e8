//! More items, through two maps on one worker. A curve that falls at its left end shows what the start of a run costs.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work::{first, second};
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] = &[
    (10_000, "10k"),
    (100_000, "100k"),
    (1_000_000, "1M"),
    (10_000_000, "10M"),
    (100_000_000, "100M"),
    (1_000_000_000, "1G"),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (rings, p) = (setting.rings(1), pipeline::<u64>().map(|x| first(*x)).map(|x| second(*x)));
    let (rings, p) = (&rings, &p);
    let steps = places(setting, PLACES).map(|place| {
        let n = place.0;
        Step {
            place,
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n),
            contestants: vec![
                ("ours", Box::new(move || summed(rings, p, n)) as super::Run<'_>),
                ("fused", Box::new(move || Ok(fused(black_box(n))))),
            ],
        }
    });
    curve(setting, steps)
}

#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add(second(first(x))))
}
