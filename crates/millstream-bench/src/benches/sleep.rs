//! The sleep example: four sleeps for every item, two of them in parallel branches. Ten thousand items with sleeps of
//! 25 microseconds, and five items with sleeps of 250 milliseconds.
//!
//! One thread sleeps four times for an item. On rings every sleep is a stage with a thread of its own, and in two
//! shards with two threads, so that an item comes out in the time of one sleep, or of half a sleep. Queues do the same
//! with their threads. In one stage, which has one thread, they sleep as the model does.
//!
//! `limit` of the five items is arithmetic: the sleeps that must follow each other, and no other time. A case whose
//! name ends in `-alloc` has the bytes that one run allocates.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::memory::taken;
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::thread;
use std::time::Duration;

/// A set of items.
#[derive(Clone, Copy)]
struct Set {
    case: &'static str,
    alloc: &'static str,
    items: u64,
    nap: Duration,
    /// The factors by which rings, sharded rings, queues and sharded queues must be faster than the model.
    bounds: [Option<f64>; 4],
}

/// A run, which returns its checksum.
type Variant<'a> = Box<dyn Fn() -> Result<u64, Failure> + 'a>;

const MANY: &str = "10000x25us";
const FEW: &str = "5x250ms";

/// The variants with five items: the contestant, its case, and the number of sleeps that must follow each other. A
/// stage begins with an item once the stage before it has slept for that item, and three stages follow each other. Each
/// of two shards of a stage sleeps for three items.
const VARIANTS: [(&str, &str, f64); 6] = [
    ("ours", "5x250ms-rings", 7.0),
    ("ours-sharded", "5x250ms-rings-sharded", 5.0),
    ("queues", "5x250ms-queues", 7.0),
    ("queues-sharded", "5x250ms-queues-sharded", 5.0),
    ("queues-one-stage", "5x250ms-one-stage", 20.0),
    ("model", "5x250ms-model", 20.0),
];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let many = Set {
        case: MANY,
        alloc: "10000x25us-alloc",
        items: setting.items(10_000, 1000),
        nap: Duration::from_micros(25),
        // A sleep of 25 microseconds takes three to four times as long, in each variant alike.
        bounds: [Some(3.0), Some(4.0), Some(1.5), Some(2.0)],
    };
    let few = Set {
        case: FEW,
        alloc: "5x250ms-alloc",
        items: 5,
        nap: Duration::from_millis(if setting.items.is_some() { 1 } else { 250 }),
        // 5.0 s against 1.80 s, and against 1.30 s, on rings.
        bounds: [Some(2.78), Some(3.85), Some(2.78), Some(3.85)],
    };
    let five = at(setting, few)?;
    let limits = within_limits(&five.figures, few.nap);
    Ok(Results::joined([at(setting, many)?, five, limits]))
}

/// The share of unavoidable sleep in the time of each variant. A bound of 1 requires at least 95%.
fn within_limits(figures: &[Figure], nap: Duration) -> Results {
    let of = |(who, case, naps): (&str, &'static str, f64)| {
        let times = &figures.iter().find(|figure| figure.case == FEW && figure.who == who)?.samples;
        let limit = nap.as_secs_f64() * naps;
        Some(Ratio::new(case, "limit", times.iter().map(|time| limit / time).collect(), Some(1.0)))
    };
    Results { ratios: VARIANTS.into_iter().filter_map(of).collect(), ..Results::default() }
}

fn at(setting: &Setting, Set { case, alloc, items, nap, bounds }: Set) -> Result<Results, Failure> {
    let expected = (1..=items).map(|x| x + x * x).fold(0, work::joined);
    let rings = &setting.rings;
    let ways: [(&'static str, Variant<'_>); 6] = [
        ("ours", Box::new(move || on_rings(1, rings, items, nap))),
        ("ours-sharded", Box::new(move || on_rings(2, rings, items, nap))),
        ("queues", Box::new(move || on_queues(&slept(1, nap), items))),
        ("queues-sharded", Box::new(move || on_queues(&slept(2, nap), items))),
        ("queues-one-stage", Box::new(move || on_queues(&in_one_stage(nap), items))),
        ("model", Box::new(move || Ok(slept(1, nap).model(1..=items).into_iter().fold(0, work::joined)))),
    ];
    let mut allocated = Vec::new();
    for (who, run) in &ways {
        let (got, taken) = taken(run)?;
        if got != expected {
            return Err(Failure::Checksum { who, expected: expected.to_string(), got: got.to_string() });
        }
        allocated.push(Figure::new(alloc, who, vec![taken.allocated as f64], Unit::Bytes));
    }
    let mut contestants: Vec<_> = ways.iter().map(|(who, run)| Contestant::new(who, expected, run)).collect();
    if case == MANY {
        contestants.push(Contestant::new("inline", expected, || inline(rings, items, nap)));
    }
    let speeds = take_turns(setting, Work { case, unit: Unit::Seconds, size: 1, goes: 1 }, contestants)?;
    let [rings, sharded, queues, queues_sharded] = bounds;
    let ratios = [
        speeds.ratio("model", rings),
        speeds.pair(["ours-sharded", "model"], "model-sharded", sharded),
        speeds.pair(["queues", "model"], "model-queues", queues),
        speeds.pair(["queues-sharded", "model"], "model-queues-sharded", queues_sharded),
        speeds.ratio("queues", None),
        speeds.ratio("inline", None),
    ];
    let speeds = speeds.results(ratios);
    Ok(Results::joined([speeds, Results { figures: allocated, ..Results::default() }]))
}

/// A sleep, two parallel ones, and one more: x + x * x.
fn slept(shards: usize, nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>()
        .shard(shards, move |p| p.map_blocking(move |x: &u64| after(nap, *x)))
        .fanout(
            move |p| p.shard(shards, move |p| p.map_blocking(move |x: &u64| after(nap, *x))),
            move |p| p.shard(shards, move |p| p.map_blocking(move |x: &u64| after(nap, x * x))),
        )
        .shard(shards, move |p| p.map_blocking(move |(x, square): (&u64, &u64)| after(nap, x + square)))
}

/// All four sleeps in one stage.
fn in_one_stage(nap: Duration) -> impl Everywhere<In = Val<u64>, Out = Val<u64>> {
    pipeline::<u64>().map_blocking(move |x: &u64| {
        let x = after(nap, *x);
        let (x, square) = (after(nap, x), after(nap, x * x));
        after(nap, x + square)
    })
}

fn after(nap: Duration, x: u64) -> u64 {
    thread::sleep(nap);
    x
}

fn on_rings(shards: usize, rings: &Rings, items: u64, nap: Duration) -> Result<u64, Failure> {
    Ok(rings.run(slept(shards, nap).from(source::ready(1..=items)).to_fold(0, join))?.0)
}

fn on_queues(pipeline: &impl Everywhere<In = Val<u64>, Out = Val<u64>>, items: u64) -> Result<u64, Failure> {
    Ok(Queues::new().run(pipeline.from(source::ready(1..=items)).to_fold(0, join))?.0)
}

fn inline(rings: &Rings, items: u64, nap: Duration) -> Result<u64, Failure> {
    Ok(Inline::new(rings.clone()).run(slept(1, nap).from(source::ready(1..=items)).to_fold(0, join))?.0)
}

fn join(sum: &mut u64, _: SequenceNumber, x: &u64) {
    *sum = work::joined(*sum, *x);
}
