//! The article's copying workload, on rings and on our own queues: one stream fans out two to twenty ways, and a map
//! reads all halves. An item owns memory, a box of eight numbers, so that a copy costs an allocation. In the cases
//! `5-u64` and `10-u64` items are numbers, whose copies cost next to nothing, as the article's units do. In `5-arc` and
//! `10-arc` they are shared, so that a queue's copy is one more reference: the best that queues can do with large
//! values.
//!
//! Case `plain` has no fan-out, and case `5-sharded` has the map in two shards. On rings all halves are the same slot;
//! on queues a fan-out has a thread that copies and a thread that zips. Case `more-ways` compares the factors by which
//! rings are faster at 2, 5, 10 and 20 ways: it must grow from each to the next.
//!
//! The bytes, the peak memory and the user-mode processor time (`-alloc`, `-peak`, `-user`) are of one run in a process
//! of its own.
//!
//! With the article's 5,000,000 items all fan-outs together take more than a minute a turn on queues. A full run uses
//! that number, and an ordinary one a fifth of it.

use crate::alone;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::{Effort, Setting};
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use millstream_cli::{fan_out, halves::Halves};
use std::sync::Arc;

/// The article's number of items.
const FULL: u64 = 5_000_000;
const MANY: u64 = 1_000_000;
const MANY_IN_A_HURRY: u64 = 10_000;

/// The type of an item.
trait Item: Clone + Send + Sync + 'static {
    fn of(x: u64) -> Self;
}

impl Item for u64 {
    fn of(x: u64) -> Self {
        x
    }
}

/// An item whose copy is 64 more bytes.
#[derive(Clone)]
struct Boxed(Box<[u64; 8]>);

impl Item for Boxed {
    fn of(x: u64) -> Self {
        Boxed(Box::new([x; 8]))
    }
}

impl Halves for &Boxed {
    fn total(self) -> u64 {
        self.0[0]
    }
}

/// An item whose copy is one more reference.
#[derive(Clone)]
struct Shared(Arc<[u64; 8]>);

impl Item for Shared {
    fn of(x: u64) -> Self {
        Shared(Arc::new([x; 8]))
    }
}

impl Halves for &Shared {
    fn total(self) -> u64 {
        self.0[0]
    }
}

/// One fan-out: the names of its cases, its number of ways, and the bounds. They are the factors by which rings must be
/// faster than queues, and by which queues must allocate more bytes.
struct Case {
    time: &'static str,
    alloc: &'static str,
    peak: &'static str,
    user: &'static str,
    ways: u64,
    bounds: [Option<f64>; 2],
}

macro_rules! case {
    ($name:literal, $ways:literal, $faster:expr, $fewer:expr) => {
        Case {
            time: $name,
            alloc: concat!($name, "-alloc"),
            peak: concat!($name, "-peak"),
            user: concat!($name, "-user"),
            ways: $ways,
            bounds: [$faster, $fewer],
        }
    };
}

/// A visitor of all pipelines. It is no trait: a closure in a generic function has a type for each of that function's
/// types, so each visitor would compile all pipelines again, whose code is most of this program.
enum Visit<'a> {
    Measured(Measured<'a>),
    One(One<'a>),
}

impl Visit<'_> {
    fn visit<T: Item, P>(&mut self, case: &Case, pipeline: P) -> Result<(), Failure>
    where
        P: Everywhere<In = Val<T>, Out = Val<u64>>,
    {
        match self {
            Visit::Measured(measured) => measured.visit(case, &pipeline),
            Visit::One(one) => one.visit(case, &pipeline),
        }
    }
}

fn all(v: &mut Visit<'_>) -> Result<(), Failure> {
    let items = pipeline::<Boxed>;
    v.visit(&case!("plain", 1, Some(1.0), None), items().map(|x| x.total()))?;
    v.visit(&case!("2", 2, Some(2.0), None), fan_out!(2, items()).map(|halves| halves.total()))?;
    v.visit(&case!("5", 5, Some(5.0), Some(4.0)), fan_out!(5, items()).map(|halves| halves.total()))?;
    let sharded = fan_out!(5, items()).shard(2, |p| p.map(|halves| halves.total()));
    v.visit(&case!("5-sharded", 5, Some(5.0), Some(4.0)), sharded)?;
    v.visit(&case!("10", 10, Some(10.0), Some(8.0)), fan_out!(10, items()).map(|halves| halves.total()))?;
    v.visit(&case!("20", 20, Some(10.0), Some(16.0)), fan_out!(20, items()).map(|halves| halves.total()))?;
    let numbers = pipeline::<u64>;
    v.visit(&case!("5-u64", 5, Some(5.0), None), fan_out!(5, numbers()).map(|halves| halves.total()))?;
    v.visit(&case!("10-u64", 10, Some(10.0), None), fan_out!(10, numbers()).map(|halves| halves.total()))?;
    let shared = pipeline::<Shared>;
    v.visit(&case!("5-arc", 5, Some(2.0), None), fan_out!(5, shared()).map(|halves| halves.total()))?;
    v.visit(&case!("10-arc", 10, Some(4.0), None), fan_out!(10, shared()).map(|halves| halves.total()))
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let mut results = Vec::new();
    all(&mut Visit::Measured(Measured { setting, results: &mut results }))?;
    let results = Results::joined(results);
    let more = MORE_WAYS.iter().filter_map(|ways| more_ways(&results.ratios, ways)).collect();
    Ok(Results::joined([results, Results { ratios: more, ..Results::default() }]))
}

/// Fewer ways, more ways, and the name of their comparison.
const MORE_WAYS: [[&str; 3]; 3] = [["2", "5", "5-over-2"], ["5", "10", "10-over-5"], ["10", "20", "20-over-10"]];

/// How many times the factor by which rings are faster is as large with more ways.
fn more_ways(ratios: &[Ratio], [fewer, more, name]: &[&'static str; 3]) -> Option<Ratio> {
    let of = |case: &str| ratios.iter().find(|ratio| ratio.case == case).map(|ratio| &ratio.samples);
    let grown = of(more)?.iter().zip(of(fewer)?).map(|(more, fewer)| more / fewer);
    Some(Ratio::new("more-ways", name, grown.collect(), Some(1.0)))
}

/// Runs one case in this process, which is one of its own.
pub(crate) fn alone(setting: &Setting, case: &str, who: &str, items: u64) -> Result<u64, Failure> {
    let mut checksum = None;
    all(&mut Visit::One(One { setting, case, who, items, checksum: &mut checksum }))?;
    checksum.ok_or_else(|| Failure::Program(format!("{case} {who}"), "there is no such run".to_owned()))
}

/// Runs one case.
struct One<'a> {
    setting: &'a Setting,
    case: &'a str,
    who: &'a str,
    items: u64,
    checksum: &'a mut Option<u64>,
}

impl One<'_> {
    fn visit<T: Item, P>(&mut self, case: &Case, pipeline: &P) -> Result<(), Failure>
    where
        P: Everywhere<In = Val<T>, Out = Val<u64>>,
    {
        if case.time == self.case {
            *self.checksum = Some(match self.who {
                "ours" => joined(&self.setting.rings, pipeline, self.items)?,
                _ => joined(&Queues::new(), pipeline, self.items)?,
            });
        }
        Ok(())
    }
}

/// Measures all cases.
struct Measured<'a> {
    setting: &'a Setting,
    results: &'a mut Vec<Results>,
}

impl Measured<'_> {
    fn visit<T: Item, P>(&mut self, case: &Case, pipeline: &P) -> Result<(), Failure>
    where
        P: Everywhere<In = Val<T>, Out = Val<u64>>,
    {
        let n = self.setting.items(if self.setting.effort == Effort::Full { FULL } else { MANY }, MANY_IN_A_HURRY);
        let expected = (0..n).map(|x| case.ways * x).fold(0, work::joined);
        self.results.push(cost(self.setting, case, n, expected)?);
        let (rings, queues) = (&self.setting.rings, &Queues::new());
        let contestants = vec![
            Contestant::new("ours", expected, || joined(rings, pipeline, n)),
            Contestant::new("queues", expected, || joined(queues, pipeline, n)),
        ];
        let work = Work { case: case.time, unit: Unit::Seconds, size: 1, goes: 1 };
        let speeds = take_turns(self.setting, work, contestants)?;
        let ratio = speeds.ratio("queues", case.bounds[0]);
        self.results.push(speeds.results([ratio]));
        Ok(())
    }
}

/// The cost of a run beside its time: ours, and on queues; and the ratio of their allocated bytes.
fn cost(setting: &Setting, case: &Case, n: u64, expected: u64) -> Result<Results, Failure> {
    let mut results = Results::default();
    for who in ["ours", "queues"] {
        setting.progress.say(&format!("{}, {who} alone", case.time));
        let alone = alone::run(case.time, who, n)?;
        if alone.checksum != expected {
            let (expected, got) = (expected.to_string(), alone.checksum.to_string());
            return Err(Failure::Checksum { who, expected, got });
        }
        let bytes = |case, bytes: u64| Figure::new(case, who, vec![bytes as f64], Unit::Bytes);
        results.figures.push(bytes(case.alloc, alone.allocated));
        results.figures.extend(alone.peak.map(|peak| bytes(case.peak, peak)));
        results.figures.extend(alone.user.map(|user| Figure::new(case.user, who, vec![user], Unit::Seconds)));
    }
    let of = |name, who| results.figures.iter().find(|figure| figure.case == name && figure.who == who);
    let over_ours = |(name, bound)| {
        let (ours, theirs) = (of(name, "ours")?.value, of(name, "queues")?.value);
        Some(Ratio::new(name, "queues", vec![theirs / ours], bound))
    };
    let ratios = [(case.alloc, case.bounds[1]), (case.peak, None), (case.user, None)];
    results.ratios = ratios.into_iter().filter_map(over_ours).collect();
    Ok(results)
}

fn joined<T: Item, P, R>(on: &R, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<T>, Out = Val<u64>> + RunsOn<R, Item = T>,
    R: Runner,
{
    let join = |sum: &mut u64, _, x: &u64| *sum = work::joined(*sum, *x);
    Ok(on.run(pipeline.from(source::ready((0..n).map(T::of))).to_fold(0, join))?.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_factor_that_does_not_grow_with_the_ways_misses_its_bound() {
        let ratios = [("2", 4.0), ("5", 10.0), ("10", 10.0), ("20", 8.0)]
            .map(|(case, factor)| Ratio::new(case, "queues", vec![factor], None));
        let grown: Vec<_> = MORE_WAYS.iter().filter_map(|ways| more_ways(&ratios, ways)).collect();
        let found: Vec<_> = grown.iter().map(|ratio| (ratio.who, ratio.median, ratio.misses())).collect();
        assert_eq!(found, [("5-over-2", 2.5, false), ("10-over-5", 1.0, false), ("20-over-10", 0.8, true)]);
    }
}
