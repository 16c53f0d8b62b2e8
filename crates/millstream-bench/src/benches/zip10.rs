//! A ten-way fan-out, and a sink that reads all ten halves: of ten branches that pass the number on, or of ten maps
//! that each write a number.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::rivals::Task;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::hint::black_box;

/// A body of a fan-out with a branch for each of the numbers, which is passed to the branch.
macro_rules! ways {
    (|$p:ident, $i:ident| $branch:expr; $only:literal) => {
        |$p| {
            let $i = $only;
            $branch
        }
    };
    (|$p:ident, $i:ident| $branch:expr; $first:literal $($more:literal)+) => {
        |p| p.fanout(ways!(|$p, $i| $branch; $first), ways!(|$p, $i| $branch; $($more)+))
    };
}

/// All ten halves of an output.
macro_rules! halves {
    ($output:expr) => {{
        let ((a, (b, (c, (d, e)))), (f, (g, (h, (i, j))))) = $output;
        [*a, *b, *c, *d, *e, *f, *g, *h, *i, *j]
    }};
}

/// The two programs that one of the benches compares.
struct Compared {
    workload: &'static str,
    bound: f64,
    ours: fn(&Rings, u64) -> Result<u64, Failure>,
    /// The same work in one loop.
    fused: fn(u64) -> u64,
}

pub(crate) fn read(setting: &Setting) -> Result<Results, Failure> {
    let ours = |rings: &Rings, n| {
        let p = pipeline::<u64>().fanout(ways!(|p, _i| p; 0 1 2 3 4), ways!(|p, _i| p; 5 6 7 8 9));
        let seen = work::Seen::default();
        let sink = rings.run(p.from(source::ready(0..n)).to_fold(seen, |seen, SequenceNumber(number), output| {
            seen.look(number, halves!(output));
        }));
        Ok(sink?.0.checksum())
    };
    let fused = |n| {
        let mut seen = work::Seen::default();
        (0..n).for_each(|x| seen.look(x, [black_box(x); 10]));
        seen.checksum()
    };
    run(setting, &Compared { workload: "zip10", bound: 8.0, ours, fused })
}

pub(crate) fn write(setting: &Setting) -> Result<Results, Failure> {
    let ours = |rings: &Rings, n| {
        let p = pipeline::<u64>().fanout(
            ways!(|p, i| p.map(move |x| work::branch(i, *x)); 0 1 2 3 4),
            ways!(|p, i| p.map(move |x| work::branch(i, *x)); 5 6 7 8 9),
        );
        let sink = rings.run(p.from(source::ready(0..n)).to_fold(0, |sum: &mut u64, _, output| {
            *sum = sum.wrapping_add(work::mix(halves!(output)));
        }));
        Ok(sink?.0)
    };
    let fused = |n| {
        let mixed = |x| work::mix(std::array::from_fn(|i| work::branch(i, x)));
        (0..n).fold(0, |sum: u64, x| sum.wrapping_add(mixed(x)))
    };
    run(setting, &Compared { workload: "zip10-write", bound: 3.0, ours, fused })
}

fn run(setting: &Setting, compared: &Compared) -> Result<Results, Failure> {
    let n = setting.items(60_000_000, 15_000_000);
    let cases = setting.ring_cases().into_iter().map(|(case, rings)| at(setting, compared, case, &rings, n));
    cases.collect::<Result<Vec<_>, _>>().map(Results::joined)
}

fn at(setting: &Setting, compared: &Compared, case: &'static str, rings: &Rings, n: u64) -> Result<Results, Failure> {
    let Compared { workload, bound, ours, fused } = *compared;
    let expected = fused(n);
    let rival =
        |shown_as, who, size| setting.rivals.contestant(shown_as, expected, Task { workload, who, items: n, size });
    let mut contestants = vec![Contestant::new("ours", expected, || ours(rings, n))];
    contestants.push(Contestant::new("fused", expected, || Ok(fused(black_box(n)))));
    contestants.extend(rival("crossbeam-vec1024", "crossbeam-vec", 64));
    contestants.extend(rival("disruptor-8192", "disruptor", 8192));
    contestants.extend(rival("disruptor-65536", "disruptor", 65_536));
    let work = Work { case, unit: Unit::ItemsPerSecond, size: n, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let rivals = ["crossbeam-vec1024", "disruptor-8192", "disruptor-65536"];
    let ratios = [speeds.ratio_as("best-rival", &rivals, Some(bound)), speeds.ratio("fused", None)];
    Ok(speeds.results(ratios))
}
