//! A graph of cheap stages on one worker, as a block of named wires and by hand: case `graph` joins two maps and their
//! input, and case `choice` compares an `if` with a `partition` and `merge`. Case `branch` is about waits.

mod branch;

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    Ok(Results::joined([graph(setting)?, choice(setting)?, branch::run(setting)?]))
}

fn mixed(x: u64) -> u64 {
    x ^ (x >> 7)
}

fn spread(x: u64) -> u64 {
    x.wrapping_add(x << 3)
}

fn graph(setting: &Setting) -> Result<Results, Failure> {
    let expected = |n| (0..n).map(|x| spread(x).wrapping_mul(mixed(x)).wrapping_sub(x)).fold(0, u64::wrapping_add);
    let block = wires!(|x: Val<u64>| {
        let wide = |x| spread(*x);
        let low = |x| mixed(*x);
        let both = |wide, low| wide.wrapping_mul(*low);
        |both, x| both.wrapping_sub(*x)
    });
    let by_hand = pipeline::<u64>()
        .fanout(
            |p| {
                p.fanout(|p| p.map(|x| spread(*x)), |p| p.map(|x| mixed(*x))).map(|(wide, low)| wide.wrapping_mul(*low))
            },
            |p| p,
        )
        .map(|(both, x)| both.wrapping_sub(*x));
    case(setting, "graph", expected, block, by_hand)
}

fn choice(setting: &Setting) -> Result<Results, Failure> {
    let expected =
        |n| (0..n).map(|x: u64| if x.is_multiple_of(2) { spread(x) } else { mixed(x) }).fold(0, u64::wrapping_add);
    let block = wires!(|x: Val<u64>| { if |x| x.is_multiple_of(2) { |x| spread(*x) } else { |x| mixed(*x) } });
    let by_hand =
        pipeline::<u64>().partition(|x| x.is_multiple_of(2)).merge(|p| p.map(|x| spread(*x)), |p| p.map(|x| mixed(*x)));
    case(setting, "choice", expected, block, by_hand)
}

fn case(
    setting: &Setting,
    name: &'static str,
    expected: impl Fn(u64) -> u64,
    block: impl Pipeline<u64, u64>,
    by_hand: impl Pipeline<u64, u64>,
) -> Result<Results, Failure> {
    let n = setting.items(20_000_000, 5_000_000);
    let (rings, expected) = (setting.rings(1), expected(n));
    let contestants = vec![
        Contestant::new("ours", expected, || sum(&rings, &block, n)),
        Contestant::new("by-hand", expected, || sum(&rings, &by_hand, n)),
    ];
    let work = Work { case: name, unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    // The pipelines by hand go past their rings, but blocks do not.
    let ratio = speeds.ratio("by-hand", Some(0.1));
    Ok(speeds.results([ratio]))
}

fn sum<P: Pipeline<u64, u64>>(rings: &Rings, p: &P, n: u64) -> Result<u64, Failure> {
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}
