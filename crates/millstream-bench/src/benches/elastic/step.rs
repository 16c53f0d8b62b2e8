//! A load that becomes four times as large and then as small as before, on a stage that waits.
//!
//! The shards of the stage have their own threads and sleep, so more shards than cores still do more work. The first
//! load keeps almost half of a shard busy. `decisions-up` and `decisions-down` are the changes of the number of shards
//! after each step in its direction: at most three are allowed. `taken-back` are the changes in the other direction:
//! none is allowed. Each load lasts sixteen seconds with `--quick`, one minute, or ten minutes with `--full`.
//! `follows-up` and `follows-down` are the times from a step to the last decision in its direction.

use super::live::{Load, sink, watched};
use crate::count::Count;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::{Effort, Setting};
use millstream::exec::Elastic;
use millstream::prelude::*;
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

/// The time for which a shard sleeps for an item.
const NAP: Duration = Duration::from_millis(2);

/// Items a second.
const LOW: u64 = 225;
const HIGH: u64 = 4 * LOW;

/// Before the first step.
const FIRST: Duration = Duration::from_secs(5);

/// The most decisions in the direction of a step.
const MOST: f64 = 3.0;

/// The slots of the rings around a stage that sleeps: few, so that few items wait in them.
const SLOTS: usize = 64;

pub(super) fn run(setting: &Setting) -> Result<Results, Failure> {
    setting.progress.say("a step of load");
    let steady = Duration::from_secs(match setting.effort {
        Effort::Quick => 16,
        Effort::Normal => 60,
        Effort::Full => 600,
    });
    let load = Load(vec![(LOW, FIRST), (HIGH, steady), (LOW, steady)]);
    let (out, (sender, receiver)) = (Arc::new(Count::default()), source::channel(SLOTS));
    let rings = setting.rings.clone().ring(SLOTS);
    let run = rings.start(work(1).from(receiver).to_fold(0, sink(&out)))?;
    let elastic = run.elastic(Elastic::of("work", 1..=8), work).map_err(Failure::io("a thread"))?;
    let live = watched((run, sender), ("a step by four and back", &load, &out), || Ok(elastic.finish()?))?;
    let steps = [FIRST, FIRST + steady].map(|step| step.as_secs_f64());
    let Decided { up, down, back, last_up, last_down } = Decided::of(&live.changes, steps);
    let count = |case, n: usize| Figure::new(case, "ours", vec![n as f64], Unit::Times);
    let most = |case| Figure::new(case, "limit", vec![MOST], Unit::Times);
    let seconds = |case, at| Figure::new(case, "ours", vec![at], Unit::Seconds);
    // A stage that never follows misses the bound, too.
    let few = |n: usize| vec![if n == 0 { 0.0 } else { MOST / n as f64 }];
    let shards: Vec<_> = live.changes.iter().map(|(at, shards)| format!("{shards} at {at:.1} s")).collect();
    let note = format!("a step at {} s, and back at {} s; shards: {}", steps[0], steps[1], shards.join(", "));
    Ok(Results {
        figures: vec![
            count("decisions-up", up),
            most("decisions-up"),
            count("decisions-down", down),
            most("decisions-down"),
            count("taken-back", back),
            seconds("follows-up", last_up),
            seconds("follows-down", last_down),
        ],
        ratios: vec![
            Ratio::new("decisions-up", "limit", few(up), Some(1.0)),
            Ratio::new("decisions-down", "limit", few(down), Some(1.0)),
            Ratio::new("taken-back", "limit", vec![1.0 / (1 + back) as f64], Some(1.0)),
        ],
        notes: vec![note, format!("its decisions: {}", live.decisions.join("; "))],
        following: vec![live.following],
        ..Results::default()
    })
}

fn work(shards: usize) -> impl Pipeline<u64, u64> {
    let nap = |x: &u64| {
        sleep(NAP);
        *x
    };
    pipeline::<u64>().shard(shards, |p| p.map_blocking(nap).named("work"))
}

/// The changes after each step.
#[derive(Debug, Default, PartialEq)]
struct Decided {
    up: usize,
    down: usize,
    /// The changes against the direction of the last step.
    back: usize,
    /// From a step to the last change in its direction.
    last_up: f64,
    last_down: f64,
}

impl Decided {
    fn of(changes: &[(f64, usize)], [up, down]: [f64; 2]) -> Self {
        let (mut decided, mut shards) = (Decided::default(), 1);
        for &(at, now) in changes {
            let raises = now > shards;
            shards = now;
            match (at >= down, raises) {
                _ if at < up => {}
                (false, true) => (decided.up, decided.last_up) = (decided.up + 1, at - up),
                (true, false) => (decided.down, decided.last_down) = (decided.down + 1, at - down),
                _ => decided.back += 1,
            }
        }
        decided
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_against_the_step_is_taken_back() {
        let of = |changes: &[(f64, usize)]| Decided::of(changes, [5.0, 20.0]);
        let follows = Decided { up: 2, down: 1, back: 0, last_up: 3.0, last_down: 6.0 };
        assert_eq!(of(&[(6.0, 2), (8.0, 4), (26.0, 1)]), follows);
        assert_eq!(of(&[(6.0, 2), (8.0, 4), (15.0, 3), (26.0, 1)]).back, 1);
        assert_eq!(of(&[(6.0, 2), (8.0, 4), (26.0, 1), (30.0, 2)]).back, 1);
        assert_eq!(of(&[]), Decided::default());
    }
}
