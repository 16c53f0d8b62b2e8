//! Larger rings between a source, two maps and a sink, on as many workers as improve throughput. The default
//! has 4096 slots.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work::{first, second};
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] = &[
    (64, "64"),
    (256, "256"),
    (1_024, "1Ki"),
    (4_096, "4Ki"),
    (16_384, "16Ki"),
    (65_536, "64Ki"),
    (262_144, "256Ki"),
    (1_048_576, "1Mi"),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(20_000_000, 5_000_000);
    let steps = places(setting, PLACES).map(|place| {
        let rings = setting.rings.clone().ring(place.0 as usize);
        let p = pipeline::<u64>().map(|x| first(*x)).map(|x| second(*x));
        Step {
            place,
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n),
            contestants: vec![
                ("ours", Box::new(move || summed(&rings, &p, n)) as super::Run<'_>),
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
