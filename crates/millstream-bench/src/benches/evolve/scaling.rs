//! The time of 2,000 states on more and more workers, with cheap and dear, even and uneven states.

use super::STATES;
use super::populations::{Design, measure};
use crate::failure::Failure;
use crate::figure::Scaling;
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
