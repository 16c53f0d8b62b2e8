//! Filters with known answers.

use millstream_evolve::particles::{
    Bootstrap, Epidemic, Filter, Linear, Particle, Scene, Volatility, grid, kalman, rmse,
};
use millstream_evolve::{EvolveMany, Model, Options, Population, Secret};
use std::sync::Arc;

const ROUNDS: usize = 40;

/// The estimate of each round, on a population.
fn estimates<P: Particle>(
    population: &mut impl EvolveMany<Bootstrap<P>>,
    particle: &P,
    scene: &Scene,
    particles: u32,
) -> Vec<f64> {
    let mut filter = Filter::begin(population, particle, particles, 3).unwrap();
    let round = |observation: &f64| {
        let (children, estimate) = filter.round(population, *observation).unwrap();
        assert_eq!(children.values().map(Vec::len).sum::<usize>(), particles as usize);
        assert!(estimate.effective >= 1.0 && estimate.effective <= f64::from(particles) + 1e-6);
        estimate.mean
    };
    scene.observations.iter().map(round).collect()
}

fn modelled<P: Particle>(particle: &P, scene: &Scene, particles: u32) -> Vec<f64> {
    estimates(&mut Model::new(Bootstrap { particle: particle.clone(), work: 0 }, 3), particle, scene, particles)
}

#[test]
fn the_linear_model_converges_to_the_kalman_filter() {
    let linear = Linear::default();
    let scene = Scene::new(&linear, ROUNDS, 1);
    let exact: Vec<_> = kalman(&linear, &scene.observations).iter().map(|exact| exact.mean).collect();
    let [few, many] = [30, 3_000].map(|particles| rmse(&modelled(&linear, &scene, particles), &exact));
    // A hundred times as many particles have a tenth of the error.
    assert!(few < 0.6 && many < 0.06 && many < few / 4.0, "{few} {many}");
    let (blurred, truth) = (rmse(&scene.observations, &scene.truth), rmse(&exact, &scene.truth));
    assert!(truth < blurred, "{truth} {blurred}");
}

#[test]
fn volatility_converges_to_the_sum_over_a_grid() {
    let volatility = Volatility::default();
    let scene = Scene::new(&volatility, ROUNDS, 1);
    let exact: Vec<_> = grid(&volatility, &scene.observations).iter().map(|exact| exact.mean).collect();
    let off = rmse(&modelled(&volatility, &scene, 3_000), &exact);
    assert!(off < 0.05, "{off}");
    assert!(rmse(&exact, &scene.truth) < rmse(&vec![0.0; ROUNDS], &scene.truth));
}

/// As returns that are given in basis points are.
#[test]
fn the_grid_survives_an_observation_far_from_all_of_it() {
    let exact = grid(&Volatility::default(), &[0.1, 4000.0, 0.1, -0.2, 0.1]);
    assert!(exact.iter().all(|exact| exact.mean.is_finite() && exact.deviation.is_finite()), "{exact:?}");
    assert!(exact[1].mean > exact[0].mean + 1.0 && exact[4].mean < exact[1].mean, "{exact:?}");
}

#[test]
fn an_epidemic_is_followed() {
    let epidemic = Epidemic::default();
    let scene = Scene::new(&epidemic, ROUNDS, 1);
    let off = rmse(&modelled(&epidemic, &scene, 1_000), &scene.truth);
    let most = scene.truth.iter().copied().fold(0.0, f64::max);
    assert!(most > 500.0 && off < most / 10.0, "{off} of up to {most}");
}

#[test]
fn a_filter_is_the_same_on_a_population() {
    let epidemic = Epidemic::default();
    let scene = Scene::new(&epidemic, 10, 1);
    let expected = modelled(&epidemic, &scene, 300);
    for workers in [1, 3] {
        let mut population = Population::new(3, Options::new(Secret::new("s"))).unwrap();
        let evolve = Arc::new(Bootstrap { particle: epidemic, work: 0 });
        population.add_threads(&evolve, workers).unwrap();
        assert_eq!(estimates(&mut population, &epidemic, &scene, 300), expected, "{workers} workers");
    }
}

/// The tokens are children's, and depend on the population's seed.
#[test]
fn the_number_of_particles_is_constant() {
    let mut model = Model::new(Bootstrap { particle: Linear::default(), work: 3 }, 3);
    let mut filter = Filter::begin(&mut model, &Linear::default(), 7, 3).unwrap();
    for round in 1..=20 {
        let (children, _) = filter.round(&mut model, f64::from(round)).unwrap();
        assert_eq!(children.values().map(Vec::len).sum::<usize>(), 7);
    }
    assert_eq!(filter.rounds(), 20);
}
