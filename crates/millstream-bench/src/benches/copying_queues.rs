//! The article's copying workload, rings against our own queues: one stream that fans out two to twenty ways, and a map
//! that reads all halves. Values own memory, so that a copy is one: a box of eight numbers.
//!
//! With `plain` nothing fans out, and in `5-sharded` the map is in two shards. On rings all halves are the same slot; on
//! queues a fan-out has a thread that copies and one that zips.
//!
//! With the article's 5,000,000 items the queues take more than a minute a turn, all fan-outs together: a full run has so
//! many, and an ordinary one a fifth.

use crate::failure::Failure;
use crate::figure::{Figure, Results, Unit};
use crate::memory::taken;
use crate::setting::{Effort, Setting};
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use millstream_cli::{fan_out, halves::Halves};

/// As many as in the article.
const FULL: u64 = 5_000_000;
const MANY: u64 = 1_000_000;
const MANY_IN_A_HURRY: u64 = 10_000;

#[derive(Clone)]
struct Item(Box<[u64; 8]>);

fn item(x: u64) -> Item {
    Item(Box::new([x; 8]))
}

impl Halves for &Item {
    fn total(self) -> u64 {
        self.0[0]
    }
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let items = pipeline::<Item>;
    Ok(Results::joined([
        at(setting, ["plain", "plain-alloc"], 1, &items().map(|x| x.total()))?,
        at(setting, ["2", "2-alloc"], 2, &fan_out!(2, items()).map(|halves| halves.total()))?,
        at(setting, ["5", "5-alloc"], 5, &fan_out!(5, items()).map(|halves| halves.total()))?,
        at(
            setting,
            ["5-sharded", "5-sharded-alloc"],
            5,
            &fan_out!(5, items()).shard(2, |p| p.map(|halves| halves.total())),
        )?,
        at(setting, ["10", "10-alloc"], 10, &fan_out!(10, items()).map(|halves| halves.total()))?,
        at(setting, ["20", "20-alloc"], 20, &fan_out!(20, items()).map(|halves| halves.total()))?,
    ]))
}

/// One fan-out: the bytes that a run allocates, and how long it takes.
fn at<P>(setting: &Setting, [case, alloc]: [&'static str; 2], ways: u64, pipeline: &P) -> Result<Results, Failure>
where
    P: Everywhere<In = Val<Item>, Out = Val<u64>>,
{
    let n = setting.items(if setting.effort == Effort::Full { FULL } else { MANY }, MANY_IN_A_HURRY);
    let expected = (0..n).map(|x| ways * x).fold(0, work::joined);
    let (rings, queues) = (&setting.rings, &Queues::new());
    let mut figures = Vec::new();
    for (who, taken) in
        [("ours", taken(|| joined(rings, pipeline, n))?), ("queues", taken(|| joined(queues, pipeline, n))?)]
    {
        let (got, taken) = taken;
        if got != expected {
            return Err(Failure::Checksum { who, expected: expected.to_string(), got: got.to_string() });
        }
        figures.push(Figure::new(alloc, who, vec![taken.allocated as f64], Unit::Bytes));
    }
    let contestants = vec![
        Contestant::new("ours", expected, || joined(rings, pipeline, n)),
        Contestant::new("queues", expected, || joined(queues, pipeline, n)),
    ];
    let speeds = take_turns(setting, Work { case, unit: Unit::Seconds, size: 1, goes: 1 }, contestants)?;
    let ratio = speeds.ratio("queues", None);
    let mut results = speeds.results([ratio]);
    figures.append(&mut results.figures);
    Ok(Results { figures, ..results })
}

fn joined<P, R>(on: &R, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<Item>, Out = Val<u64>>,
    R: Runner<Item, P>,
{
    let join = |sum: &mut u64, _, x: &u64| *sum = work::joined(*sum, *x);
    Ok(on.run(pipeline, source::ready((0..n).map(item)), 0, join)?.0)
}
