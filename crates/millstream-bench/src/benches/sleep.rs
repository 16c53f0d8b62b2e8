//! The sleep example: every item is slept over four times, and two of the sleeps are side by side. Ten thousand items of
//! 25 microseconds each, and five items of 250 milliseconds.
//!
//! Whoever has one thread sleeps four times an item. On rings every sleep is a stage with a thread of its own, and in
//! two shards with two, so that the items come out as fast as one sleep, or half of one, takes.
//! Queues do the same with their threads, and in one stage, which has one, they sleep as the model does.

use crate::failure::Failure;
use crate::figure::{Results, Unit};
use crate::setting::Setting;
use crate::turns::{Contestant, Work, take_turns};
use crate::work;
use millstream::prelude::*;
use std::thread;
use std::time::Duration;

/// One set of items.
#[derive(Clone, Copy)]
struct Set {
    case: &'static str,
    items: u64,
    nap: Duration,
    /// How many times as fast as the model rings must be, and sharded rings.
    bounds: [Option<f64>; 2],
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let many = Set {
        case: "10000x25us",
        items: setting.items(10_000, 1000),
        nap: Duration::from_micros(25),
        bounds: [None, None],
    };
    let few = Set {
        case: "5x250ms",
        items: 5,
        nap: Duration::from_millis(if setting.items.is_some() { 1 } else { 250 }),
        // 5.0 s to 1.80 s, and to 1.30 s.
        bounds: [Some(2.78), Some(3.85)],
    };
    Ok(Results::joined([at(setting, many)?, at(setting, few)?]))
}

fn at(setting: &Setting, Set { case, items, nap, bounds }: Set) -> Result<Results, Failure> {
    let expected = (1..=items).map(|x| x + x * x).fold(0, work::joined);
    let rings = &setting.rings;
    let mut contestants = vec![
        Contestant::new("ours", expected, || on_rings(1, rings, items, nap)),
        Contestant::new("ours-sharded", expected, || on_rings(2, rings, items, nap)),
        Contestant::new("queues", expected, || on_queues(&slept(1, nap), items)),
        Contestant::new("queues-sharded", expected, || on_queues(&slept(2, nap), items)),
        Contestant::new("queues-one-stage", expected, || on_queues(&in_one_stage(nap), items)),
        Contestant::new("model", expected, || Ok(slept(1, nap).model(1..=items).into_iter().fold(0, work::joined))),
    ];
    if bounds[0].is_none() {
        contestants.push(Contestant::new("inline", expected, || inline(rings, items, nap)));
    }
    let work = Work { case, unit: Unit::Seconds, size: 1, goes: 1 };
    let speeds = take_turns(setting, work, contestants)?;
    let [rings, sharded] = bounds;
    let ratios = [
        speeds.ratio("model", rings),
        speeds.ratio_between(&["ours-sharded"], &["model"], "model-sharded", sharded),
        speeds.ratio("inline", None),
    ];
    Ok(speeds.results(ratios))
}

/// A sleep, two of them side by side, and one more: x + x * x.
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
    Ok(slept(shards, nap).run_with(rings, source::ready(1..=items), 0, join)?.0)
}

fn on_queues(pipeline: &impl Everywhere<In = Val<u64>, Out = Val<u64>>, items: u64) -> Result<u64, Failure> {
    Ok(Queues::new().run(pipeline, source::ready(1..=items), 0, join)?.0)
}

fn inline(rings: &Rings, items: u64, nap: Duration) -> Result<u64, Failure> {
    Ok(slept(1, nap).run_inline(rings, source::ready(1..=items), 0, join)?.0)
}

fn join(sum: &mut u64, _: SequenceNumber, x: &u64) {
    *sum = work::joined(*sum, *x);
}
