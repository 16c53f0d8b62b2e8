//! Pipelines in boxes whose types name the items, and the same pipelines with complete types, on one worker. In case
//! `map` the boxed edge is one ring, in case `filter` a ring and a mask, and in case `filters` a ring and two masks,
//! both of which a reader tests for every slot. Case `text` is five stages from a text, beside the same block of
//! wires with complete types: a stage may cost at most 1.5 ns a number more.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;
use millstream::registry::{In, Registry};

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    Ok(Results::joined([map(setting)?, filter(setting)?, filters(setting)?, text(setting)?]))
}

fn mixed(x: u64) -> u64 {
    x ^ (x >> 7)
}

fn odd(x: &u64) -> bool {
    x & 1 == 1
}

fn low(x: &u64) -> bool {
    x & 6 != 6
}

fn map(setting: &Setting) -> Result<Results, Failure> {
    let expected = |n| (0..n).map(|x| mixed(x * 3)).fold(0, u64::wrapping_add);
    let first = || pipeline::<u64>().map(|x| x * 3);
    let (exact, boxed) = (first().map(|x| mixed(*x)), first().boxed().map(|x| mixed(*x)).boxed());
    case(setting, "map", expected, exact, boxed)
}

fn filter(setting: &Setting) -> Result<Results, Failure> {
    let expected = |n| (0..n).filter(odd).map(mixed).fold(0, u64::wrapping_add);
    let first = || pipeline::<u64>().filter(odd);
    let (exact, boxed) = (first().map(|x| mixed(*x)), first().boxed().map(|x| mixed(*x)).boxed());
    case(setting, "filter", expected, exact, boxed)
}

fn filters(setting: &Setting) -> Result<Results, Failure> {
    let expected = |n| (0..n).filter(odd).filter(low).map(mixed).fold(0, u64::wrapping_add);
    let exact = pipeline::<u64>().filter(odd).filter(low).map(|x| mixed(*x));
    let boxed = pipeline::<u64>().filter(odd).boxed().filter(low).boxed().map(|x| mixed(*x)).boxed();
    case(setting, "filters", expected, exact, boxed)
}

/// The bound: the nanoseconds a number by which a stage from a text may cost more than one whose type is known.
const MOST: f64 = 1.5;
const STAGES: u32 = 5;

fn text(setting: &Setting) -> Result<Results, Failure> {
    let mut stages = Registry::default();
    stages.stage("mixed", |x: In<u64>| x.map(|x| mixed(*x)));
    let text = "|x| { let a = mixed(x); let b = mixed(a); let c = mixed(b); let d = mixed(c); mixed(d) }";
    let boxed = stages.load::<u64, u64>(text).expect("the text is right");
    let exact = wires!(|x: Val<u64>| {
        let a = x.map(|x| mixed(*x));
        let b = a.map(|x| mixed(*x));
        let c = b.map(|x| mixed(*x));
        let d = c.map(|x| mixed(*x));
        let e = d.map(|x| mixed(*x));
        e
    });
    let n = setting.items(20_000_000, 5_000_000);
    let expected = (0..n).map(|x| (0..STAGES).fold(x, |x, _| mixed(x))).fold(0, u64::wrapping_add);
    let rings = setting.rings(1);
    let contestants = vec![
        Contestant::new("ours", expected, || sum(&rings, &boxed, n)),
        Contestant::new("exact", expected, || sum(&rings, &exact, n)),
    ];
    let work = Work { case: "text", unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let costs = speeds.longer("ours", "exact", f64::from(STAGES));
    Ok(Results::joined([speeds.results([]), Results::cost("text-stage", costs, MOST)]))
}

fn case(
    setting: &Setting,
    name: &'static str,
    expected: impl Fn(u64) -> u64,
    exact: impl Pipeline<u64, u64>,
    boxed: BoxPipeline<u64, u64>,
) -> Result<Results, Failure> {
    let n = setting.items(20_000_000, 5_000_000);
    let (rings, expected) = (setting.rings(1), expected(n));
    let contestants = vec![
        Contestant::new("ours", expected, || sum(&rings, &boxed, n)),
        Contestant::new("exact", expected, || sum(&rings, &exact, n)),
    ];
    let work = Work { case: name, unit: Unit::ItemsPerSecond, size: n, goes: 10 };
    let speeds = take_turns(setting, work, contestants)?;
    let ratio = speeds.ratio("exact", None);
    Ok(speeds.results([ratio]))
}

fn sum<P: Pipeline<u64, u64>>(rings: &Rings, p: &P, n: u64) -> Result<u64, Failure> {
    let add = |sum: &mut u64, _, x: &u64| *sum = sum.wrapping_add(*x);
    Ok(rings.run(p.from(source::ready(0..n)).to_fold(0, add))?.0)
}
