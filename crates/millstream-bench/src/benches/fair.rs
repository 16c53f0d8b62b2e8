//! Three producers that always have more to send, and one consumer that takes what waits: the share of the slowest
//! producer, relative to a third.
//!
//! Four threads may share two cores, so the scheduler has a part in the shares: a producer that waits for a core has an
//! empty ring, from which nothing can be taken. Therefore only values that were taken while every producer had
//! something waiting are judged. The notes report the rest.

use crate::count::Count;
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit, median};
use crate::load::Load;
use crate::setting::Setting;
use millstream::prelude::*;
use std::time::{Duration, Instant};

const PRODUCERS: usize = 3;
/// A producer updates its count after this many values.
const REPORT_EVERY: u64 = 256;
/// At least this number of values must be taken while all producers have some waiting.
const ENOUGH: u64 = 100_000;
/// If that fails within this time, the machine is too busy for a judgement.
const PATIENCE: Duration = Duration::from_secs(60);

type Counts = [u64; PRODUCERS];

/// The number of values taken from each producer, and the time.
#[derive(Clone, Copy, Default)]
struct Taken {
    all: Counts,
    /// The values among these that were taken while every producer had something waiting.
    saturated: Counts,
    seconds: f64,
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    // In less time a producer might have had no core at all.
    let n = setting.items(30_000_000, 6_000_000).max(3_000_000);
    Ok(Results::joined([at(setting, "arrival", n, false)?, at(setting, "shared", n / 3, true)?]))
}

/// Either a ring for each producer or one ring for all. With one ring the scheduler alone decides which producer claims
/// next.
fn at(setting: &Setting, case: &'static str, n: u64, shared: bool) -> Result<Results, Failure> {
    let rings = setting.rings.clone().wait(Wait::Yielding).ring(setting.ring.unwrap_or(4096));
    let (mut turns, before) = (Vec::new(), Load::now());
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        turns.push(taken(&rings, n, shared)?);
    }
    setting.progress.done();
    let others = Load::of_others(before);
    // The first turn is not measured.
    let of = |what: fn(&Taken) -> f64| turns[1..].iter().map(what).collect::<Vec<_>>();
    let figures =
        vec![Figure::new(case, "ours", of(|t| t.all.iter().sum::<u64>() as f64 / t.seconds), Unit::ItemsPerSecond)];
    let of_all = 100.0 * median(&of(|taken| share(taken.all)));
    let mut notes = vec![format!("{case}: of all that was taken, the slowest producer had {of_all:.0}% of a third")];
    let mut ratios = Vec::new();
    if !shared {
        let part = of(|t| t.saturated.iter().sum::<u64>() as f64 / t.all.iter().sum::<u64>() as f64);
        notes.push(format!(
            "{case}: {:.0}% of it was taken while every producer had something waiting; by that its share is judged",
            100.0 * median(&part)
        ));
        ratios.push(Ratio::new(case, "fair-share", of(|taken| share(taken.saturated)), Some(0.5)));
    }
    Ok(Results { others, figures, ratios, notes, ..Results::default() })
}

/// The share of the slowest producer, relative to a fair one.
fn share(of: Counts) -> f64 {
    let (least, all) = (of.iter().min().copied().unwrap_or(0), of.iter().sum::<u64>());
    least as f64 * PRODUCERS as f64 / all.max(1) as f64
}

/// Takes at least `n` values of producers that always have more.
fn taken(rings: &Rings, n: u64, shared: bool) -> Result<Taken, Failure> {
    let fan_in = fan_in(PRODUCERS).with_producer();
    let (senders, mut poller) = if shared { fan_in.shared() } else { fan_in }.open(rings)?;
    let sent: [Count; PRODUCERS] = Default::default();
    std::thread::scope(|scope| {
        for (sender, sent) in senders.into_iter().zip(&sent) {
            std::thread::Builder::new().spawn_scoped(scope, || flood(sender, sent)).map_err(Failure::io("a thread"))?;
        }
        let (mut now, mut in_order) = (Taken::default(), true);
        let mut poll = |now: &mut Taken| {
            let all_wait = |of: &Counts| of.iter().zip(&sent).all(|(taken, sent)| *taken < sent.get());
            let (before, waited) = (now.all, all_wait(&now.all));
            let polled = poller.poll_for(Duration::MAX, |_, FromProducer { producer, number, value }| {
                let taken = &mut now.all[producer as usize];
                in_order &= number == value && *taken == number;
                *taken += 1;
            });
            if waited && all_wait(&now.all) {
                let moved = now.all.iter().zip(before).map(|(now, before)| now - before);
                now.saturated.iter_mut().zip(moved).for_each(|(all, moved)| *all += moved);
            }
            polled
        };
        while now.all.contains(&0) {
            poll(&mut now)?;
        }
        let (before, started) = (now, Instant::now());
        let gone = |now: &Counts, before: &Counts| now.iter().sum::<u64>() - before.iter().sum::<u64>();
        loop {
            let (all, saturated) = (gone(&now.all, &before.all), gone(&now.saturated, &before.saturated));
            if all >= n && (shared || saturated >= ENOUGH) {
                break;
            }
            if all >= n && started.elapsed() > PATIENCE {
                return Err(Failure::NeverSaturated { all, saturated, enough: ENOUGH });
            }
            poll(&mut now)?;
        }
        let seconds = started.elapsed().as_secs_f64();
        drop(poller);
        let since = |now: Counts, before: Counts| std::array::from_fn(|producer| now[producer] - before[producer]);
        let taken =
            Taken { all: since(now.all, before.all), saturated: since(now.saturated, before.saturated), seconds };
        let (who, expected, got) = ("ours", "values in order".to_owned(), "others".to_owned());
        if in_order { Ok(taken) } else { Err(Failure::Checksum { who, expected, got }) }
    })
}

/// Sends until the stream has ended.
fn flood(sender: Sender<u64>, sent: &Count) {
    for first in (0..).step_by(REPORT_EVERY as usize) {
        if sender.send_all(first..first + REPORT_EVERY).is_err() {
            return;
        }
        sent.set(first + REPORT_EVERY);
    }
}
