//! A choice whose values alternate between left and right, with a map in either lane, on one worker; and the same work
//! in one loop, and on our own queues.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use std::hint::black_box;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let merged = pipeline::<u64>().map(|x| of_its_lane(*x)).merge(|l| l.map(|x| left(*x)), |r| r.map(|x| right(*x)));
    let rings = setting.rings(1);
    let n = setting.items(20_000_000, 5_000_000);
    let expected = fused(n);
    let contestants = vec![
        Contestant::new("ours", expected, || summed(&rings, &merged, n)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n)))),
    ];
    let speeds =
        take_turns(setting, Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 5 }, contestants)?;
    let ratio = speeds.ratio("fused", Some(0.35));
    let alone = speeds.results([ratio]);

    let (queues, n) = (Queues::new(), setting.items(500_000, 100_000));
    let expected = fused(n);
    let contestants = vec![
        Contestant::new("ours", expected, || summed(&rings, &merged, n)),
        Contestant::new("queues", expected, || summed(&queues, &merged, n)),
    ];
    let work = Work { case: "queues", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("queues", Some(20.0));
    Ok(Results::joined([alone, speeds.results([ratio])]))
}

fn of_its_lane(x: u64) -> Either<u64, u64> {
    if x.is_multiple_of(2) { Either::Left(x) } else { Either::Right(x) }
}

fn left(x: u64) -> u64 {
    x ^ (x >> 7)
}

fn right(x: u64) -> u64 {
    x.wrapping_add(x << 3)
}

fn summed<P, R>(on: &R, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out: for<'a> Shape<Ref<'a> = &'a u64>> + RunsOn<R, Item = u64>,
    R: Runner,
{
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(on.run(pipeline.from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// The same work in one loop.
#[inline(never)]
fn fused(n: u64) -> u64 {
    (0..n).map(|x| of_its_lane(x).either(left, right)).fold(0, u64::wrapping_add)
}
