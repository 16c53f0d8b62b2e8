//! Contestants that measure waits. They take turns, and are compared by quantiles of their waits.

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::load::Load;
use crate::round_trip;
use crate::setting::Setting;

/// A contestant that measures every wait.
pub(crate) struct Waiter<'a> {
    who: &'static str,
    run: Box<dyn FnMut() -> Result<Vec<u64>, Failure> + 'a>,
}

impl<'a> Waiter<'a> {
    /// `run` returns the nanoseconds of every wait.
    pub(crate) fn new(who: &'static str, run: impl FnMut() -> Result<Vec<u64>, Failure> + 'a) -> Self {
        Waiter { who, run: Box::new(run) }
    }
}

/// A case: the wait that this share of all waits, from 0 to 1, does not exceed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantile {
    pub(crate) case: &'static str,
    pub(crate) of: f64,
}

impl Quantile {
    fn pick(self, sorted: &[u64]) -> Option<f64> {
        let last = sorted.len().checked_sub(1)?;
        sorted.get((last as f64 * self.of).round() as usize).map(|wait| *wait as f64)
    }
}

/// Runs all waiters in one unmeasured turn, then in the setting's number of turns. The ratios are the other waiters'
/// waits over the first one's.
pub(crate) fn compare(
    setting: &Setting,
    quantiles: &[Quantile],
    mut waiters: Vec<Waiter<'_>>,
) -> Result<Results, Failure> {
    let (before, mut round_trips) = (Load::now(), Vec::new());
    // By waiter, then by quantile, then by turn.
    let mut waits = vec![vec![Vec::new(); quantiles.len()]; waiters.len()];
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        round_trips.extend(round_trip::measure());
        let mut order: Vec<_> = (0..waiters.len()).collect();
        if turn.is_multiple_of(2) {
            order.reverse();
        }
        for i in order {
            let mut sorted = (waiters[i].run)()?;
            sorted.sort_unstable();
            for (quantile, waits) in quantiles.iter().zip(&mut waits[i]) {
                let picked = quantile.pick(&sorted).ok_or(Failure::Answer(waiters[i].who, 0))?;
                if turn > 0 {
                    waits.push(picked);
                }
            }
        }
    }
    setting.progress.done();
    let others = Load::of_others(before);
    let mut results = Results { others, round_trips, ..Results::default() };
    for (q, Quantile { case, .. }) in quantiles.iter().enumerate() {
        for (waiter, waits) in waiters.iter().zip(&waits) {
            results.figures.push(Figure::new(case, waiter.who, waits[q].clone(), Unit::Nanoseconds));
        }
        for (waiter, theirs) in waiters.iter().zip(&waits).skip(1) {
            let samples = theirs[q].iter().zip(&waits[0][q]).map(|(theirs, ours)| theirs / ours);
            results.ratios.push(Ratio::new(case, waiter.who, samples.collect(), None));
        }
    }
    Ok(results)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_one_of_the_waits() {
        let sorted: Vec<u64> = (0..=100).collect();
        let pick = |of| Quantile { case: "p", of }.pick(&sorted);
        assert_eq!((pick(0.0), pick(0.5), pick(0.99), pick(1.0)), (Some(0.0), Some(50.0), Some(99.0), Some(100.0)));
        assert_eq!(Quantile { case: "p", of: 0.5 }.pick(&[]), None);
    }
}
