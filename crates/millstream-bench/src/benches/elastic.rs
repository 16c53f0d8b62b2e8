//! A stage whose load is a square wave, with fixed numbers of shards and with a number that follows the load; and, in
//! `step.rs`, a load that becomes four times as large and as small as before.
//!
//! `seconds` is the time until the last item is out: items are due at their times, and a stage that is too slow is
//! late. `core-seconds` is the processor time of all threads of the run, by the clock of the process, without the
//! threads that send the load and that watch. The items are the same work in every case, so the rest is the cost of the
//! run. `held` is the time for which workers were not parked (they moved something, looked for work or waited for a
//! core), as a sum over all workers, sampled every five milliseconds. A fixed number of shards has as many workers;
//! `ours` has as many as improve throughput, as any run. The bounds: at most a tenth slower than the fastest fixed
//! number, and no more core-seconds than the largest, used or held. One shard that never changes holds these as well,
//! since it works off in the low halves what it was late in the high ones. Therefore `follows` requires that every wave
//! of ours gets a second shard while it is high, and `late` says how much later one shard ends than ours.

mod live;
mod step;

use crate::count::Count;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::load;
use crate::setting::{Effort, Setting};
use crate::work::rounds;
use live::{Live, Load, sink, watched};
use millstream::exec::Elastic;
use millstream::prelude::*;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The processor time of an item.
const WORK: Duration = Duration::from_micros(20);

/// Items a second in the low and in the high half of the wave: a fifth of a shard, and 1.2 shards.
const RATES: [u64; 2] = [10_000, 60_000];

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let before = load::Load::now();
    let mut results = Results::joined([waves(setting)?, step::run(setting)?]);
    results.others = load::Load::of_others(before);
    Ok(results)
}

type Value = fn(&Live) -> f64;

fn waves(setting: &Setting) -> Result<Results, Failure> {
    let most = thread::available_parallelism().map_or(1, usize::from).clamp(1, 4);
    let half = Duration::from_secs(if setting.effort == Effort::Quick { 4 } else { 8 });
    let load = Load([RATES, RATES].concat().into_iter().map(|rate| (rate, half)).collect());
    let item = rounds_of_an_item();
    let ways = [("one", Some(1)), ("largest", Some(most)), ("ours", None)];
    let mut seen = [const { Vec::new() }; 3];
    for turn in 0..if setting.effort == Effort::Quick { 1 } else { 3 } {
        for ((who, fixed), seen) in ways.iter().zip(&mut seen) {
            setting.progress.say(&format!("turn {} of {who}", turn + 1));
            seen.push(wave(setting, *fixed, most, &load, item)?);
        }
    }
    let all: [(_, Value); 3] =
        [("seconds", |live| live.seconds), ("core-seconds", |live| live.used), ("held", |live| live.held)];
    let figures = all.iter().flat_map(|(case, of)| {
        let figure = |((who, _), seen): (&(&'static str, _), &Vec<Live>)| {
            Figure::new(case, who, seen.iter().map(of).collect(), Unit::Seconds)
        };
        ways.iter().zip(&seen).map(figure).collect::<Vec<_>>()
    });
    let [one, largest, ours] = &seen;
    let by_turn = |of: &dyn Fn(usize) -> f64| (0..ours.len()).map(of).collect::<Vec<_>>();
    let fastest = by_turn(&|turn| one[turn].seconds.min(largest[turn].seconds) / ours[turn].seconds);
    let used = by_turn(&|turn| largest[turn].used / ours[turn].used);
    let held = by_turn(&|turn| largest[turn].held / ours[turn].held);
    let late = by_turn(&|turn| load.late(one[turn].seconds) / load.late(ours[turn].seconds));
    let follows = by_turn(&|turn| if follows(&ours[turn].changes, half.as_secs_f64()) { 1.0 } else { 0.0 });
    let ratios = vec![
        Ratio::new("seconds", "best-fixed", fastest, Some(0.9)),
        Ratio::new("late", "one", late, None),
        // With one core there is no second shard.
        Ratio::new("follows", "limit", follows, (most > 1).then_some(1.0)),
        Ratio::new("core-seconds", "largest", used, Some(1.0)),
        Ratio::new("held", "largest", held, Some(1.0)),
    ];
    let figures = figures.collect();
    // Slower turns show the load of other processes.
    let drawn = ours.iter().min_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let notes =
        drawn.map(|live| format!("decisions in the wave that is drawn, the fastest: {}", live.decisions.join("; ")));
    let (notes, following) =
        (notes.into_iter().collect(), drawn.map(|live| live.following.clone()).into_iter().collect());
    Ok(Results { figures, ratios, notes, following, ..Results::default() })
}

/// Whether the number of shards was raised while the load was high: in every second half of a wave.
fn follows(changes: &[(f64, usize)], half: f64) -> bool {
    let before = [1].into_iter().chain(changes.iter().map(|(_, shards)| *shards));
    changes.iter().zip(before).any(|((at, now), before)| *now > before && (at / half) as u64 % 2 == 1)
}

/// The number of rounds that take the processor time of an item. On a loaded machine, wall-clock time would mislead.
fn rounds_of_an_item() -> u32 {
    const ALL: u32 = 2_000_000;
    let measured = (0..3).map(|n| {
        let since = load::thread_time();
        std::hint::black_box(rounds(n, ALL));
        load::thread_time().saturating_sub(since)
    });
    let fastest = measured.min().unwrap_or(WORK).as_secs_f64().max(1e-9);
    (f64::from(ALL) * WORK.as_secs_f64() / fastest) as u32
}

fn work(shards: usize, of_an_item: u32) -> impl Pipeline<u64, u64> {
    let work = move |x: &u64| {
        std::hint::black_box(rounds(*x, of_an_item));
        *x
    };
    pipeline::<u64>().shard(shards, |p| p.map(work).named("work"))
}

fn wave(setting: &Setting, fixed: Option<usize>, most: usize, load: &Load, item: u32) -> Result<Live, Failure> {
    let work = move |shards| work(shards, item);
    let (out, (sender, receiver)) = (Arc::new(Count::default()), source::channel(1024));
    let rings = fixed.map_or_else(|| setting.rings.clone(), |workers| setting.rings(workers));
    let run = rings.start(work(fixed.unwrap_or(1)).from(receiver).to_fold(0, sink(&out)))?;
    let elastic = fixed.is_none().then(|| run.elastic(Elastic::of("work", 1..=most), work));
    let elastic = elastic.transpose().map_err(Failure::io("a thread"))?;
    watched((run, sender), ("a square wave", load, &out), || Ok(elastic.map_or(Ok(()), |elastic| elastic.finish())?))
}

#[cfg(test)]
mod tests {
    use super::follows;

    #[test]
    fn a_wave_that_never_gets_a_second_shard_does_not_follow() {
        assert!(!follows(&[], 8.0));
        assert!(follows(&[(9.2, 2), (20.0, 1)], 8.0));
        assert!(follows(&[(3.0, 2), (5.0, 1), (25.0, 2)], 8.0));
        // Raised while the load was low, and lowered while it was high.
        assert!(!follows(&[(3.0, 2), (9.0, 1), (17.0, 3)], 8.0));
    }
}
