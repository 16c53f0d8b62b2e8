use super::Particle;
use crate::Token;

/// A random truth and its observations, from a seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    /// The hidden number by round.
    pub truth: Vec<f64>,
    /// The observation by round.
    pub observations: Vec<f64>,
}

impl Scene {
    /// A scene of this many rounds.
    pub fn new<P: Particle>(particle: &P, rounds: usize, seed: u64) -> Self {
        // This stream of random numbers belongs to no state of a population.
        let mut random = Token::root(seed, u64::MAX, 0).random();
        let mut state = particle.begin(&mut random);
        let mut scene = Scene { truth: Vec::new(), observations: Vec::new() };
        for _ in 0..rounds {
            state = particle.step(&state, &mut random);
            scene.truth.push(particle.hidden(&state));
            scene.observations.push(particle.observe(&state, &mut random));
        }
        scene
    }
}

/// The root mean square of the differences; 0 if there are none.
#[must_use]
pub fn rmse(some: &[f64], others: &[f64]) -> f64 {
    let squares = some.iter().zip(others).map(|(one, other)| (one - other).powi(2));
    let number = some.len().min(others.len()).max(1);
    // An empty sum of floats is -0.
    ((0.0 + squares.sum::<f64>()) / number as f64).sqrt()
}
