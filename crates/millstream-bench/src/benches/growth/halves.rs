//! More readers of one ring: a fan-out into 1 to 32 halves, and a map that reads them all, on one worker.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work::second;
use millstream::prelude::*;
use millstream_cli::{fan_out, halves::Halves};
use std::hint::black_box;

const PLACES: &[Place] = &[(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32")];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (n, rings) = (setting.items(10_000_000, 2_000_000), setting.rings(1));
    let rings = &rings;
    let steps = places(setting, PLACES).map(|place| Step {
        place,
        unit: Unit::ItemsPerSecond,
        size: n,
        expected: fused(n, place.0),
        contestants: vec![
            ("ours", Box::new(move || ours(rings, n, place.0)) as super::Run<'_>),
            ("fused", Box::new(move || Ok(fused(n, black_box(place.0))))),
        ],
    });
    curve(setting, steps)
}

fn ours(rings: &Rings, n: u64, halves: u64) -> Result<u64, Failure> {
    macro_rules! of {
        ($k:tt) => {
            summed(rings, &fan_out!($k, pipeline::<u64>()).map(|halves| second(halves.total())), n)
        };
    }
    match halves {
        1 => of!(1),
        2 => of!(2),
        4 => of!(4),
        8 => of!(8),
        16 => of!(16),
        _ => of!(32),
    }
}

#[inline(never)]
fn fused(n: u64, halves: u64) -> u64 {
    (0..n).fold(0, |sum, x| {
        sum.wrapping_add(second((0..halves).fold(0_u64, |total, _| total.wrapping_add(black_box(x)))))
    })
}
