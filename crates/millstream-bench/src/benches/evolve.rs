//! Two populations. The workers of one wait, and are connected over TCP: once with one master thread, and once in the
//! first design. The workers of the other are threads that compute.

mod populations;
mod rates;
mod scaling;

use crate::failure::Failure;
use crate::figure::{Figure, Ratio, Results, Unit};
use crate::setting::{Effort, Setting};
use crate::turns::{Contestant, Work, take_turns};
use crate::waiting::Costs;
use millstream_evolve::particles::{Bootstrap, Filter, Linear, Scene};
use millstream_evolve::{Batch, EvolveError, Options, Population, Secret, Tuning};
use populations::{Design, Rounds};
use std::sync::Arc;

/// The article's sizes, and the time of a state in microseconds.
const WORKERS: usize = 450;
const STATES: u64 = 2000;
const USUAL: u64 = 30_000;

/// The latency's bound in nanoseconds.
const LATENCY: f64 = 1e6;

impl From<EvolveError> for Failure {
    fn from(error: EvolveError) -> Self {
        Failure::io("the population")(std::io::Error::other(error))
    }
}

/// The number of workers and states: the article's, or fewer in the same proportion.
fn sizes(setting: &Setting) -> (usize, u64) {
    let states = setting.items(STATES, STATES);
    (usize::try_from(states * WORKERS as u64 / STATES).unwrap_or(WORKERS).clamp(2, WORKERS), states)
}

pub(crate) fn run(setting: &Setting) -> Result<Results, Failure> {
    let (workers, states) = sizes(setting);
    let mut cases = Vec::new();
    for (case, latency, uneven, bound) in [("even", "latency-even", 0, 0.93), ("uneven", "latency-uneven", 100, 0.90)] {
        cases.push(efficiency(setting, (case, latency), Costs { micros: USUAL, uneven }, bound, (workers, states))?);
    }
    cases.push(rates::run(setting, workers, states)?);
    if setting.effort != Effort::Quick && setting.items.is_none() {
        let scaling = scaling::run(setting)?;
        cases.push(Results { ratios: scaling::dear_over_cheap(&scaling), scaling, ..Results::default() });
    }
    Ok(Results::joined(cases))
}

/// Both designs in turn, compared with a scheduler that takes no time.
fn efficiency(
    setting: &Setting,
    (case, latency): (&'static str, &'static str),
    costs: Costs,
    bound: f64,
    (workers, states): (usize, u64),
) -> Result<Results, Failure> {
    let tuning = Tuning { batch: Batch::Fixed(5), ..Tuning::default() };
    let (mut ours, mut locked, mut waits) = (Vec::new(), Vec::new(), [Vec::new(), Vec::new()]);
    for turn in 0..=setting.turns() {
        setting.progress.turn(turn, setting.turns());
        let mut designs = [(Design::OneThread, &mut ours), (Design::Locked, &mut locked)];
        if turn.is_multiple_of(2) {
            designs.reverse();
        }
        for (design, samples) in designs {
            let Rounds { efficiency, latency, .. } = populations::measure(design, &tuning, workers, states, costs, 3)?;
            if turn > 0 {
                samples.push(efficiency);
                let which = usize::from(design == Design::Locked);
                // If no worker waited for a request, there is no latency.
                if latency.total() > 0 {
                    waits[which].push(latency.quantile(0.99).as_nanos() as f64);
                }
            }
        }
    }
    setting.progress.done();
    let within: Vec<_> = waits[0].iter().map(|wait| LATENCY / wait.max(1.0)).collect();
    // With even costs all workers answer at the same time, so only the other case has a bound.
    let limit = (costs.uneven > 0).then_some(1.0);
    let mut figures = vec![
        Figure::new(case, "ours", ours.clone(), Unit::Times),
        Figure::new(case, "locked", locked.clone(), Unit::Times),
    ];
    let ratio = ours.iter().zip(&locked).map(|(ours, locked)| ours / locked).collect();
    let mut ratios = vec![Ratio::new(case, "free", ours.clone(), Some(bound)), Ratio::new(case, "locked", ratio, None)];
    for (who, waits) in ["ours", "locked"].into_iter().zip(waits).filter(|(_, waits)| !waits.is_empty()) {
        figures.push(Figure::new(latency, who, waits, Unit::Nanoseconds));
    }
    if !within.is_empty() {
        ratios.push(Ratio::new(latency, "limit", within, limit));
    }
    Ok(Results { figures, ratios, ..Results::default() })
}

/// A filter on two workers that compute, and on one.
pub(crate) fn cores(setting: &Setting) -> Result<Results, Failure> {
    // A particle takes a millisecond. If the command line sets the number of items, particles are cheap.
    let (states, work) = (setting.items(1000, 400), if setting.items.is_some() { 100 } else { 400_000 });
    let scene = Scene::new(&Linear::default(), 3, 1);
    let filtered = |workers: usize, pin: bool| {
        let options = Options { pin, ..Options::new(Secret::new("threads have none")) };
        let mut population = Population::new(1, options)?;
        population.add_threads(&Arc::new(Bootstrap { particle: Linear::default(), work }), workers)?;
        let states = u32::try_from(states).unwrap_or(u32::MAX);
        let mut filter = Filter::begin(&mut population, &Linear::default(), states, 1)?;
        let mut sum = 0_u64;
        for observation in &scene.observations {
            let (_, estimate) = filter.round(&mut population, *observation)?;
            sum = sum.rotate_left(1) ^ estimate.mean.to_bits();
        }
        Ok::<u64, Failure>(sum)
    };
    let expected = filtered(1, true)?;
    let work = Work { case: "speed", unit: Unit::ItemsPerSecond, size: states * scene.truth.len() as u64, goes: 1 };
    let speeds = take_turns(
        setting,
        work,
        vec![
            Contestant::new("ours", expected, || filtered(2, true)),
            Contestant::new("unpinned", expected, || filtered(2, false)),
            Contestant::new("one-worker", expected, || filtered(1, true)),
        ],
    )?;
    let ratios = [speeds.ratio("one-worker", Some(1.9)), speeds.ratio("unpinned", None)];
    Ok(speeds.results(ratios))
}
