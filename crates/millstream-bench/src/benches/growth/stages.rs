//! More stages: maps in boxes, so that their number is not part of a type, on one worker and on as many as improve
//! throughput. The loop by hand has all functions in it, and calls none by a pointer.

use super::{Place, Step, curve, places, summed};
use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

const PLACES: &[Place] = &[(1, "1"), (2, "2"), (4, "4"), (8, "8"), (16, "16"), (32, "32"), (64, "64")];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let n = setting.items(2_000_000, 500_000);
    let (one, many) = (setting.rings(1), setting.rings.clone());
    let (one, many) = (&one, &many);
    let steps = places(setting, PLACES).map(|place| {
        let p =
            (0..place.0).fold(pipeline::<u64>().map(|x| *x).boxed(), |p, i| p.map(move |x| work::stage(i, *x)).boxed());
        let again = p.clone();
        Step {
            place,
            unit: Unit::ItemsPerSecond,
            size: n,
            expected: fused(n, place.0),
            contestants: vec![
                ("ours", Box::new(move || summed(one, &p, n)) as super::Run<'_>),
                ("any-workers", Box::new(move || summed(many, &again, n))),
                ("fused", Box::new(move || Ok(fused(n, black_box(place.0))))),
            ],
        }
    });
    curve(setting, steps)
}

#[inline(never)]
fn fused(n: u64, stages: u64) -> u64 {
    (0..n).fold(0, |sum, x| sum.wrapping_add((0..stages).fold(x, |x, i| work::stage(i, x))))
}
