use super::Particle;
use crate::Random;
use rand::Rng;
use rand_distr::StandardNormal;

/// A number that moves towards 0 with Gaussian noise, and is observed with Gaussian noise. The Kalman filter has the
/// exact answer: [`kalman`](super::kalman).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// The factor of the number in a step, between -1 and 1: with another one, the number has no long run from which it
    /// could begin, and all estimates are NaN.
    pub keeps: f64,
    /// The standard deviation of the noise in a step.
    pub push: f64,
    /// The standard deviation of an observation.
    pub blur: f64,
}

impl Default for Linear {
    fn default() -> Self {
        Linear { keeps: 0.95, push: 1.0, blur: 1.0 }
    }
}

impl Linear {
    /// The variance of the number in the long run, with which it begins.
    pub(super) fn variance(&self) -> f64 {
        self.push * self.push / (1.0 - self.keeps * self.keeps)
    }
}

impl Particle for Linear {
    type State = f64;

    fn begin(&self, random: &mut Random) -> f64 {
        self.variance().sqrt() * random.sample::<f64, _>(StandardNormal)
    }

    fn step(&self, state: &f64, random: &mut Random) -> f64 {
        self.keeps * state + self.push * random.sample::<f64, _>(StandardNormal)
    }

    fn observe(&self, state: &f64, random: &mut Random) -> f64 {
        state + self.blur * random.sample::<f64, _>(StandardNormal)
    }

    fn log_likelihood(&self, state: &f64, observation: f64) -> f64 {
        let off = (observation - state) / self.blur;
        -0.5 * off * off
    }

    fn hidden(&self, state: &f64) -> f64 {
        *state
    }
}
