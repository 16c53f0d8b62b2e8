//! The time of 2,000 states on more and more workers, with cheap and dear, even and uneven states.

use super::STATES;
use super::populations::{Design, measure};
use crate::failure::Failure;
use crate::figure::{Ratio, Scaling};
use crate::setting::{Effort, Setting};
use crate::waiting::Costs;
use millstream_evolve::{Batch, Tuning};

/// The scenarios. A is cheap and even, D dear and even.
const SCENARIOS: [(&str, Costs); 6] = [
    ("A: 3 ms, even", Costs { micros: 3_000, uneven: 0 }),
    ("B: 3 ms, somewhat uneven", Costs { micros: 3_000, uneven: 50 }),
    ("C: 3 ms, uneven", Costs { micros: 3_000, uneven: 100 }),
    ("D: 30 ms, even", Costs { micros: 30_000, uneven: 0 }),
    ("E: 30 ms, somewhat uneven", Costs { micros: 30_000, uneven: 50 }),
    ("F: 30 ms, uneven", Costs { micros: 30_000, uneven: 100 }),
];

/// The numbers of workers. With one worker a round of D takes a minute, so only a full run has that.
const USUAL: [usize; 5] = [30, 60, 120, 240, 450];
const FULL: [usize; 10] = [1, 2, 5, 10, 20, 40, 80, 160, 300, 450];

pub(super) fn run(setting: &Setting) -> Result<Vec<Scaling>, Failure> {
    let workers: &[usize] = if setting.effort == Effort::Full { &FULL } else { &USUAL };
    let tuning = Tuning { batch: Batch::Fixed(5), ..Tuning::default() };
    let mut all = Vec::new();
    for (at, (scenario, costs)) in SCENARIOS.into_iter().enumerate() {
        setting.progress.turn(at, SCENARIOS.len());
        for (who, design) in [("ours", Design::OneThread), ("locked", Design::Locked)] {
            for workers in workers {
                let rounds = measure(design, &tuning, *workers, STATES, costs, 1)?;
                let ideal = STATES as f64 * costs.micros as f64 / 1e6 / *workers as f64;
                let (seconds, idle) = (rounds.seconds, rounds.idle);
                all.push(Scaling { scenario, who, workers: *workers, seconds, ideal, idle });
            }
        }
    }
    setting.progress.done();
    Ok(all)
}

/// The efficiency of D over that of A with the most workers, in each design: states that take longer scale better.
pub(super) fn dear_over_cheap(all: &[Scaling]) -> Vec<Ratio> {
    let efficiency = |scenario: &str, who: &str| {
        let of = all.iter().filter(|point| point.scenario.starts_with(scenario) && point.who == who);
        of.max_by_key(|point| point.workers).map(|point| point.ideal / point.seconds)
    };
    let ratio = |(who, name)| {
        let samples = vec![efficiency("D:", who)? / efficiency("A:", who)?];
        Some(Ratio::new("scaling", name, samples, Some(1.0)))
    };
    [("ours", "cheap"), ("locked", "cheap-locked")].into_iter().filter_map(ratio).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dear_states_that_scale_worse_miss_the_bound() {
        let of = |scenario, who, workers, seconds| Scaling { scenario, who, workers, seconds, ideal: 1.0, idle: 0.0 };
        let all = |dear| {
            let points = ["ours", "locked"].map(|who| {
                let cheap = [of("A: 3 ms, even", who, 30, 1.0), of("A: 3 ms, even", who, 450, 2.0)];
                cheap.into_iter().chain([of("D: 30 ms, even", who, 450, dear)])
            });
            points.into_iter().flatten().collect::<Vec<_>>()
        };
        let misses = |dear| dear_over_cheap(&all(dear)).iter().map(Ratio::misses).collect::<Vec<_>>();
        assert_eq!((misses(1.2), misses(4.0)), (vec![false, false], vec![true, true]));
        assert!(dear_over_cheap(&[]).is_empty());
    }
}
