//! The number of batches a second at which the workers of a design wait too much.

use super::populations::{Design, Rounds, measure};
use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::{Effort, Setting};
use crate::waiting::Costs;
use millstream_evolve::{Batch, Tuning};

/// Below this efficiency a design counts as overtaxed.
const ENOUGH: f64 = 0.8;

/// A design's figures at that efficiency.
struct Limit {
    batches: f64,
    processor: f64,
}

pub(super) fn run(setting: &Setting, workers: usize, states: u64) -> Result<Results, Failure> {
    let turns = if setting.effort == Effort::Full { 3 } else { 1 };
    let (mut ours, mut locked) = (Vec::new(), Vec::new());
    for turn in 0..turns {
        setting.progress.turn(turn, turns);
        ours.push(limit(Design::OneThread, workers, states)?);
        locked.push(limit(Design::Locked, workers, states)?);
    }
    setting.progress.done();
    let of = |limits: &[Limit], what: fn(&Limit) -> f64| limits.iter().map(what).collect::<Vec<_>>();
    let batches = |limit: &Limit| limit.batches;
    let processor = |limit: &Limit| limit.processor * 1e9;
    let ratio = |over: &[f64], under: &[f64]| over.iter().zip(under).map(|(over, under)| over / under).collect();
    let (fast, slow) = (of(&ours, batches), of(&locked, batches));
    let (dear, dearer) = (of(&ours, processor), of(&locked, processor));
    Ok(Results {
        figures: vec![
            Figure::new("batches", "ours", fast.clone(), Unit::ItemsPerSecond),
            Figure::new("batches", "locked", slow.clone(), Unit::ItemsPerSecond),
            Figure::new("processor", "ours", dear.clone(), Unit::Nanoseconds),
            Figure::new("processor", "locked", dearer.clone(), Unit::Nanoseconds),
        ],
        ratios: vec![
            Ratio::new("batches", "locked", ratio(&fast, &slow), Some(2.0)),
            // The ratio of the processor time for a batch.
            Ratio::new("processor", "locked", ratio(&dearer, &dear), Some(1.0)),
        ],
        ..Results::default()
    })
}

/// Makes states cheaper until the efficiency is too low. Returns the point between the last two measurements, by linear
/// interpolation.
fn limit(design: Design, workers: usize, states: u64) -> Result<Limit, Failure> {
    let tuning = Tuning { batch: Batch::Fixed(5), ..Tuning::default() };
    let mut before: Option<Rounds> = None;
    let mut micros = 30_000;
    loop {
        // Rounds are long enough for a figure, and each worker has enough states for several batches.
        let states = (states * 8).min(states * 30_000 / micros);
        let now = measure(design, &tuning, workers, states, Costs { micros, uneven: 100 }, 3)?;
        if now.efficiency < ENOUGH || micros < 50 {
            let part = before.as_ref().map_or(1.0, |before| {
                ((before.efficiency - ENOUGH) / (before.efficiency - now.efficiency)).clamp(0.0, 1.0)
            });
            let between = |of: fn(&Rounds) -> f64| {
                before.as_ref().map_or(of(&now), |before| of(before) + part * (of(&now) - of(before)))
            };
            return Ok(Limit { batches: between(|r| r.batches), processor: between(|r| r.processor) });
        }
        micros = micros * 2 / 3;
        before = Some(now);
    }
}
