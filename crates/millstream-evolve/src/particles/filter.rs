use super::{Bootstrap, BootstrapInput, Particle, Weighed};
use crate::evolve::Children;
use crate::{EvolveError, EvolveMany, Token};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the filter says of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The weighted mean of the hidden number.
    pub mean: f64,
    /// How many particles of equal weight would tell as much.
    pub effective: f64,
}

/// A bootstrap filter: how many children each state of the population is to have next.
///
/// It is the same whatever computes the population. It can be written down between two rounds, to go on elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    seed: u64,
    particles: u32,
    round: u64,
    next: BTreeMap<Token, u32>,
}

impl Filter {
    /// Begins a population of so many particles.
    ///
    /// # Errors
    ///
    /// As the population's [`reset_states`](EvolveMany::reset_states).
    pub fn begin<P: Particle>(
        population: &mut impl EvolveMany<Bootstrap<P>>,
        particle: &P,
        particles: u32,
        seed: u64,
    ) -> Result<Self, EvolveError> {
        let mut random = Token::root(seed, u64::MAX, 1).random();
        let states = (0..particles).map(|_| particle.begin(&mut random)).collect();
        let tokens = population.reset_states(states)?;
        let next = tokens.into_iter().map(|token| (token, 1)).collect();
        Ok(Filter { seed, particles, round: 0, next })
    }

    /// One round: everything that was told, and what it means.
    ///
    /// # Errors
    ///
    /// As the population's [`evolve_many`](EvolveMany::evolve_many).
    pub fn round<P: Particle>(
        &mut self,
        population: &mut impl EvolveMany<Bootstrap<P>>,
        observation: f64,
    ) -> Result<(Children<Weighed>, Estimate), EvolveError> {
        let told =
            self.next.iter().map(|(token, children)| (*token, BootstrapInput { observation, children: *children }));
        let children = population.evolve_many(told.collect())?;
        let estimate = self.resample(&children);
        self.round += 1;
        Ok((children, estimate))
    }

    fn resample(&mut self, children: &Children<Weighed>) -> Estimate {
        let all: BTreeMap<Token, Weighed> = children.values().flatten().copied().collect();
        let most = all.values().map(|weighed| weighed.log_weight).fold(f64::NEG_INFINITY, f64::max);
        // Where nothing fits, everything fits alike.
        let weight = |weighed: &Weighed| if most.is_finite() { (weighed.log_weight - most).exp() } else { 1.0 };
        let total: f64 = all.values().map(weight).sum();
        let squares: f64 = all.values().map(|weighed| (weight(weighed) / total).powi(2)).sum();
        let mean = all.values().map(|weighed| weighed.hidden * weight(weighed)).sum::<f64>() / total;

        let mut random = Token::root(self.seed, u64::MAX, 2 + self.round).random();
        let (step, mut at) = (total / f64::from(self.particles), random.random::<f64>());
        at *= step;
        let (mut sum, mut left) = (0.0, self.particles);
        self.next.clear();
        for (token, weighed) in &all {
            sum += weight(weighed);
            let mut copies = 0;
            while at < sum && left > 0 {
                (at, left, copies) = (at + step, left - 1, copies + 1);
            }
            if copies > 0 {
                self.next.insert(*token, copies);
            }
        }
        // What rounding has left out at the end belongs to the last one.
        if let Some((token, _)) = all.last_key_value().filter(|_| left > 0) {
            *self.next.entry(*token).or_default() += left;
        }
        Estimate { mean, effective: 1.0 / squares }
    }

    /// How many rounds have been.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.round
    }
}
