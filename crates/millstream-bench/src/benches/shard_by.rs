//! A state for each of 1,000 keys: a running sum for every key, or 720 rounds of xorshift as well.
//!
//! Case `speed` is the sum, on one worker, beside one loop with a map of the standard library. Case `queues` is the
//! same, beside our own queues. Case `busy` is the rounds, with the keys on two tasklets and two workers, beside one
//! and one.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use hashbrown::HashMap;
use millstream::prelude::*;
use std::hint::black_box;

const KEYS: u64 = 1_000;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let one = setting.rings(1);
    let n = setting.items(10_000_000, 1_000_000);
    let expected = fused(n, 0);
    let contestants = vec![
        Contestant::new("ours", expected, || joined(&one, &sums(1, 0), n)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n), 0))),
    ];
    let speeds =
        take_turns(setting, Work { case: "speed", unit: Unit::ItemsPerSecond, size: n, goes: 1 }, contestants)?;
    let ratio = speeds.ratio("fused", None);
    let alone = speeds.results([ratio]);

    let (queues, n) = (Queues::new(), setting.items(200_000, 50_000));
    let expected = fused(n, 0);
    let contestants = vec![
        Contestant::new("ours", expected, || joined(&setting.rings, &sums(2, 0), n)),
        Contestant::new("queues", expected, || joined(&queues, &sums(2, 0), n)),
    ];
    let beside_queues = Work { case: "queues", unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, beside_queues, contestants)?;
    let ratio = speeds.ratio("queues", None);
    let beside = speeds.results([ratio]);

    let (two, n) = (setting.rings(2), setting.items(1_000_000, 200_000));
    let expected = fused(n, work::ROUNDS);
    let contestants = vec![
        Contestant::new("ours", expected, || joined(&two, &sums(2, work::ROUNDS), n)),
        Contestant::new("one-worker", expected, || joined(&one, &sums(1, work::ROUNDS), n)),
        Contestant::new("fused", expected, || Ok(fused(black_box(n), work::ROUNDS))),
    ];
    let speeds = take_turns(setting, Work { case: "busy", unit: Unit::ItemsPerSecond, size: n, goes: 1 }, contestants)?;
    let ratios = [speeds.ratio("one-worker", None), speeds.ratio("fused", None)];
    Ok(Results::joined([alone, beside, speeds.results(ratios)]))
}

/// Keys in an order that a processor cannot predict.
fn key(x: u64) -> u64 {
    (x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % KEYS
}

fn step(sum: &mut u64, x: u64, rounds: u32) -> u64 {
    *sum = sum.wrapping_add(if rounds == 0 { x } else { work::rounds(x, rounds) });
    *sum
}

fn sums(k: usize, rounds: u32) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().shard_by(|x| key(*x), k, move |p| p.scan(0, move |sum, x| step(sum, *x, rounds)))
}

fn joined<R, P>(on: &R, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out = Val<u64>> + RunsOn<R, Item = u64>,
    R: Runner,
{
    let join = |all: &mut u64, _, x: &u64| *all = work::joined(*all, *x);
    Ok(on.run(pipeline.from(source::ready(0..n)).to_fold(0, join))?.0)
}

#[inline(never)]
fn fused(n: u64, rounds: u32) -> u64 {
    let mut sums = HashMap::new();
    (0..n).fold(0, |all, x| work::joined(all, step(sums.entry(key(x)).or_insert(0), x, rounds)))
}
