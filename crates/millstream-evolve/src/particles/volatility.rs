use super::Particle;
use crate::Random;
use rand::Rng;
use rand_distr::StandardNormal;

/// The stochastic volatility model of Taylor (1982): the logarithm of a price's variance wanders, and the returns are
/// observed. It has no closed solution; [`grid`](super::grid) approximates it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volatility {
    /// The factor of the logarithm in a step, between -1 and 1, as in [`Linear`](super::Linear).
    pub keeps: f64,
    /// The standard deviation of the noise in a step.
    pub push: f64,
    /// The standard deviation of a return if the logarithm is 0.
    pub scale: f64,
}

impl Default for Volatility {
    fn default() -> Self {
        Volatility { keeps: 0.95, push: 0.3, scale: 0.65 }
    }
}

impl Particle for Volatility {
    type State = f64;

    fn begin(&self, random: &mut Random) -> f64 {
        self.push / (1.0 - self.keeps * self.keeps).sqrt() * random.sample::<f64, _>(StandardNormal)
    }

    fn step(&self, state: &f64, random: &mut Random) -> f64 {
        self.keeps * state + self.push * random.sample::<f64, _>(StandardNormal)
    }

    fn observe(&self, state: &f64, random: &mut Random) -> f64 {
        self.scale * (state / 2.0).exp() * random.sample::<f64, _>(StandardNormal)
    }

    fn log_likelihood(&self, state: &f64, observation: f64) -> f64 {
        let off = observation / self.scale;
        -0.5 * (state + off * off * (-state).exp())
    }

    fn hidden(&self, state: &f64) -> f64 {
        *state
    }
}
