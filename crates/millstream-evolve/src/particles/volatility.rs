use super::Particle;
use crate::Random;
use rand::Rng;
use rand_distr::StandardNormal;

/// How much a price moves: the logarithm of the variance wanders, and the returns are seen. The stochastic volatility model
/// of Taylor (1982). It has no closed answer; [`grid`](super::grid) computes it as exactly as one likes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Volatility {
    /// What is left of the logarithm after a step.
    pub keeps: f64,
    /// The standard deviation of a push.
    pub push: f64,
    /// The standard deviation of a return where the logarithm is 0.
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
