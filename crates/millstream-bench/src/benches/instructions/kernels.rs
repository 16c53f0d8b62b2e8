//! The kernels: pipelines on one thread, whose count of instructions is the same in every run, and the loop by hand of
//! each.

use crate::failure::Failure;
use crate::work;
use hashbrown::HashMap;
use millstream::exec::Stepped;
use millstream::io::{Block, WholeBlocks};
use millstream::prelude::*;
use millstream::ring::ring;
use std::hint::black_box;
use std::io::Cursor;

/// A pipeline on one thread, and the same work in one loop.
pub(super) struct Kernel {
    pub(super) name: &'static str,
    /// The case of its allocated bytes.
    pub(super) allocated: &'static str,
    /// The items of the shorter run.
    pub(super) items: u64,
    /// The bytes that an item may allocate.
    pub(super) bytes: f64,
    pub(super) ours: fn(u64) -> Result<u64, Failure>,
    pub(super) fused: fn(u64) -> u64,
}

macro_rules! kernel {
    ($name:literal, $items:literal, $bytes:literal, $ours:expr, $fused:expr) => {
        Kernel {
            name: $name,
            allocated: concat!($name, "-allocated"),
            items: $items,
            bytes: $bytes,
            ours: $ours,
            fused: $fused,
        }
    };
}

pub(super) const ALL: &[Kernel] = &[
    kernel!("chain2", 200_000, 0.01, chain2, |n| sum(n, |x| last(first(x)))),
    kernel!("queues", 20_000, 0.01, queues, |n| sum(n, |x| last(first(x)))),
    kernel!("filter-map", 200_000, 0.01, filter_map, |n| (0..n).filter(is_third).fold(0, |sum, x| added(sum, last(x)))),
    kernel!("scan", 200_000, 0.01, scan, |n| {
        let mut state = 0;
        sum(n, |x| stepped(&mut state, x))
    }),
    kernel!("fanout", 200_000, 0.01, fanout, |n| sum(n, |x| work::if_even(x, work::is_even(x)))),
    kernel!("merge", 200_000, 0.01, merge, |n| sum(n, |x| if work::is_even(x) { first(x) } else { last(x) })),
    kernel!("shard", 200_000, 0.01, shard, |n| sum(n, |x| last(first(x)))),
    kernel!("shard-by", 100_000, 0.1, shard_by, |n| {
        let mut states = HashMap::new();
        sum(n, |x| stepped(states.entry(key(x)).or_insert(0), x))
    }),
    kernel!("fold-by", 100_000, 0.1, fold_by, |n| {
        let mut states = HashMap::new();
        for x in 0..n {
            stepped(states.entry(key(x)).or_insert(0), x);
        }
        states.into_values().fold(0, added)
    }),
    kernel!("windows", 50_000, 0.01, windows, |n| {
        let all: Vec<u64> = (0..n).collect();
        all.windows(4).map(|window| window.iter().copied().fold(0, added)).fold(0, added)
    }),
    kernel!("feedback", 50_000, 0.01, feedback, |n| {
        let mut back = 0;
        sum(n, |x| {
            back = first(added(x, back));
            back
        })
    }),
    // The text itself is allocated, and doubled as it grows.
    kernel!("lines", 50_000, 32.0, lines, |n| text(n)
        .split(|byte| *byte == b'\n')
        .fold(0, |sum, line| added(sum, line.len() as u64))),
    kernel!("ring", 200_000, 0.01, by_ring, |n| sum(n, |x| last(first(x)))),
];

/// Runs a kernel in a process of its own; none if no kernel has this name.
pub(crate) fn alone(case: &str, who: &str, items: u64) -> Option<Result<u64, Failure>> {
    let kernel = ALL.iter().find(|kernel| kernel.name == case)?;
    Some(if who == "ours" { (kernel.ours)(black_box(items)) } else { Ok((kernel.fused)(black_box(items))) })
}

fn first(x: u64) -> u64 {
    x.wrapping_mul(3).wrapping_add(1)
}

fn last(x: u64) -> u64 {
    x ^ (x >> 7)
}

fn is_third(x: &u64) -> bool {
    x.is_multiple_of(3)
}

fn added(sum: u64, x: u64) -> u64 {
    sum.wrapping_add(x)
}

fn stepped(state: &mut u64, x: u64) -> u64 {
    *state = last(added(*state, x));
    *state
}

/// Keys in an order that a processor cannot predict.
fn key(x: u64) -> u64 {
    (x.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) % 1_000
}

fn sum(n: u64, mut f: impl FnMut(u64) -> u64) -> u64 {
    (0..n).fold(0, |sum, x| added(sum, f(x)))
}

/// Lines of 1 to 16 bytes.
fn text(n: u64) -> Vec<u8> {
    let mut text = Vec::new();
    for x in 0..n {
        text.extend(std::iter::repeat_n(b'a' + (x % 26) as u8, (key(x) % 16) as usize + 1));
        text.push(b'\n');
    }
    text
}

fn summed<P, R>(on: &R, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out: for<'a> Shape<Ref<'a> = &'a u64>> + RunsOn<R, Item = u64>,
    R: Runner,
{
    let add = |sum: &mut u64, _, x: &u64| *sum = added(*sum, *x);
    Ok(on.run(pipeline.from(source::ready(0..n)).to_fold(0, add))?.0)
}

/// One thread, whose steps do not depend on a clock: callgrind makes each fifty times as long, and other processes may
/// use the core.
fn one() -> Stepped {
    Stepped::new(one_worker(), 1)
}

/// For a loop, which a worker steps round and round. The steps of a loop do not depend on a clock.
fn one_worker() -> Rings {
    Rings::new().workers(1).batch(2048)
}

fn chain2(n: u64) -> Result<u64, Failure> {
    summed(&one(), &pipeline::<u64>().map(|x| first(*x)).map(|x| last(*x)), n)
}

fn queues(n: u64) -> Result<u64, Failure> {
    summed(&Queues::new(), &pipeline::<u64>().map(|x| first(*x)).map(|x| last(*x)), n)
}

fn filter_map(n: u64) -> Result<u64, Failure> {
    summed(&one(), &pipeline::<u64>().filter_map(|x| is_third(x).then_some(*x)).map(|x| last(*x)), n)
}

fn scan(n: u64) -> Result<u64, Failure> {
    summed(&one(), &pipeline::<u64>().scan(0, |state, x| stepped(state, *x)), n)
}

fn fanout(n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().fanout(|p| p, |p| p.map(|x| work::is_even(*x)));
    let add = |sum: &mut u64, _, (x, even): (&u64, &bool)| *sum = added(*sum, work::if_even(*x, *even));
    Ok(one().run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}

fn merge(n: u64) -> Result<u64, Failure> {
    let lane = |x: &u64| if work::is_even(*x) { Either::Left(*x) } else { Either::Right(*x) };
    summed(&one(), &pipeline::<u64>().map(lane).merge(|l| l.map(|x| first(*x)), |r| r.map(|x| last(*x))), n)
}

fn shard(n: u64) -> Result<u64, Failure> {
    summed(&one(), &pipeline::<u64>().shard(2, |p| p.map(|x| last(first(*x)))), n)
}

fn shard_by(n: u64) -> Result<u64, Failure> {
    summed(&one(), &pipeline::<u64>().shard_by(|x| key(*x), 1, |p| p.scan(0, |state, x| stepped(state, *x))), n)
}

fn fold_by(n: u64) -> Result<u64, Failure> {
    let step = |state: &mut u64, x: &u64| {
        stepped(state, *x);
    };
    let p = pipeline::<u64>().fold_by(|x| key(*x), 0, step, |state| state);
    let add =
        |sum: &mut u64, _, states: &Vec<(u64, u64)>| *sum = states.iter().map(|(_, state)| *state).fold(*sum, added);
    Ok(one().run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}

fn windows(n: u64) -> Result<u64, Failure> {
    let sums = |window: &[u64]| window.iter().copied().fold(0, added);
    summed(&one(), &pipeline::<u64>().map_windows(4, sums), n)
}

fn feedback(n: u64) -> Result<u64, Failure> {
    let p = pipeline::<u64>().feedback(0, |p| p.map(|(x, back)| first(added(*x, *back))).map(|x| (*x, *x)));
    summed(&one_worker(), &p, n)
}

fn lines(n: u64) -> Result<u64, Failure> {
    let p = pipeline::<Block>().lines();
    let add = |sum: &mut u64, _, line: millstream::text::Piece<'_>| *sum = added(*sum, line.len() as u64);
    Ok(one().run(p.from(source::ready(WholeBlocks::lines(Cursor::new(text(n))))).to_fold(0, add))?.0)
}

/// One thread, which writes a batch and reads it.
fn by_ring(n: u64) -> Result<u64, Failure> {
    let cannot = |error: millstream::ring::CapacityError| Failure::Program("ring".to_owned(), error.to_string());
    let (mut producer, mut reader) = ring::<u64, Dense>(4096).map_err(cannot)?;
    let (mut next, mut sum) = (0, 0);
    while next < n {
        let most = (n - next).min(2048);
        let claim = producer.try_claim(most as usize);
        let mut claim = claim.expect("the size is the ring's").expect("the ring is empty");
        for x in next..next + most {
            claim.write(last(first(x)));
        }
        claim.publish();
        next += most;
        let batch = reader.batch(2048).expect("slots are published");
        sum = batch.iter().flatten().fold(sum, |sum, x| added(sum, *x));
    }
    Ok(sum)
}
