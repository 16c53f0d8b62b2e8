//! The cost of growth: the same pipeline with more items, stages, halves, shards, keys, bytes, slots and cores, beside
//! the loop by hand. Each axis has a bench, whose chart is the curve.

mod cores;
mod halves;
mod items;
mod keys;
mod rings;
mod shards;
mod sizes;
mod stages;

pub(crate) use cores::run as cores;
pub(crate) use halves::run as halves;
pub(crate) use items::run as items;
pub(crate) use keys::run as keys;
pub(crate) use rings::run as rings;
pub(crate) use shards::run as shards;
pub(crate) use sizes::run as sizes;
pub(crate) use stages::run as stages;

use crate::failure::Failure;
use crate::figure::{Growth, Results, Unit};
use crate::setting::{Effort, Setting};
use crate::turns::{Contestant, Work, take_turns};
use millstream::prelude::*;

/// A place on the axis, and the name of its case.
type Place = (u64, &'static str);

/// The work of a case of the curve.
struct Step<'a> {
    place: Place,
    unit: Unit,
    /// The items, or the bytes, of one go.
    size: u64,
    expected: u64,
    /// Ours is the first.
    contestants: Vec<(&'static str, Run<'a>)>,
}

type Run<'a> = Box<dyn FnMut() -> Result<u64, Failure> + 'a>;

/// The curve of these steps. Compares the first contestant, ours, with every other.
fn curve<'a>(setting: &Setting, steps: impl IntoIterator<Item = Step<'a>>) -> Result<Results, Failure> {
    let mut results = Vec::new();
    for Step { place: (at, case), unit, size, expected, contestants } in steps {
        let others: Vec<_> = contestants.iter().skip(1).map(|(who, _)| *who).collect();
        let contestants = contestants.into_iter().map(|(who, run)| Contestant::new(who, expected, run)).collect();
        let speeds = take_turns(setting, Work { case, unit, size, goes: 1 }, contestants)?;
        let ratios: Vec<_> = others.into_iter().map(|who| speeds.ratio(who, None)).collect();
        let mut step = speeds.results(ratios);
        let of = |figure: &crate::figure::Figure| Growth { who: figure.who, at, speed: figure.value };
        step.growth = step.figures.iter().map(of).collect();
        results.push(step);
    }
    Ok(Results::joined(results))
}

/// The places of a run: `--quick` leaves out the last two, and only `--full` has the last one.
fn places(setting: &Setting, all: &'static [Place]) -> impl Iterator<Item = Place> {
    let left_out = match setting.effort {
        Effort::Quick => 2,
        Effort::Normal => 1,
        Effort::Full => 0,
    };
    all[..all.len() - left_out].iter().copied()
}

fn added(sum: &mut u64, _: SequenceNumber, x: &u64) {
    *sum = sum.wrapping_add(*x);
}

/// The wrapping sum of a pipeline's outputs for the numbers below n.
fn summed<P>(rings: &Rings, pipeline: &P, n: u64) -> Result<u64, Failure>
where
    P: Arrow<In = Val<u64>, Out: for<'a> Shape<Ref<'a> = &'a u64>> + RunsOn<Rings, Item = u64>,
{
    Ok(rings.run(pipeline.from(source::ready(0..n)).to_fold(0, added))?.0)
}
