use super::{Bootstrap, BootstrapInput, Particle, Weighed};
use crate::evolve::Children;
use crate::{EvolveError, EvolveMany, Token};
use rand::Rng;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The filter's estimate of a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// The weighted mean of the hidden number.
    pub mean: f64,
    /// The number of particles of equal weight that would carry as much information.
    pub effective: f64,
}

/// A bootstrap filter. It holds the number of children of each state in the next round.
///
/// Its results are the same on every kind of population. It can be saved between two rounds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Filter {
    seed: u64,
    particles: u32,
    round: u64,
    next: BTreeMap<Token, u32>,
}

impl Filter {
    /// Begins a population of this many particles.
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

    /// Runs one round. Returns the children, and the estimate.
    ///
    /// # Errors
    ///
    /// As the population's [`evolve_many`](EvolveMany::evolve_many).
    pub fn round<P: Particle>(
        &mut self,
        population: &mut impl EvolveMany<Bootstrap<P>>,
        observation: f64,
    ) -> Result<(Children<Weighed>, Estimate), EvolveError> {
        let inputs =
            self.next.iter().map(|(token, children)| (*token, BootstrapInput { observation, children: *children }));
        let children = population.evolve_many(inputs.collect())?;
        let estimate = self.resample(&children);
        self.round += 1;
        Ok((children, estimate))
    }

    fn resample(&mut self, children: &Children<Weighed>) -> Estimate {
        let all: BTreeMap<Token, Weighed> = children.values().flatten().copied().collect();
        let most = all.values().map(|weighed| weighed.log_weight).fold(f64::NEG_INFINITY, f64::max);
        // If no state fits the observation, all weigh the same. A likelihood that is not a number fits nothing, and
        // beside an infinite one the others are nothing.
        let weight = |Weighed { log_weight, .. }: &Weighed| {
            if most == f64::NEG_INFINITY || *log_weight == most { 1.0 } else { (log_weight - most).exp().max(0.0) }
        };
        let total: f64 = all.values().map(weight).sum();
        let squares: f64 = all.values().map(|weighed| (weight(weighed) / total).powi(2)).sum();
        // The hidden number of a state that has no weight may be infinite or no number either.
        let counted = all.values().map(|weighed| (weighed.hidden, weight(weighed))).filter(|(_, weight)| *weight > 0.0);
        let mean = counted.map(|(hidden, weight)| hidden * weight).sum::<f64>() / total;

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
        // Children that rounding leaves over belong to the last state that has a weight.
        if let Some((token, _)) = all.iter().rfind(|(_, weighed)| left > 0 && weight(weighed) > 0.0) {
            *self.next.entry(*token).or_default() += left;
        }
        Estimate { mean, effective: 1.0 / squares }
    }

    /// The number of rounds until now.
    #[must_use]
    pub fn rounds(&self) -> u64 {
        self.round
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAN: f64 = f64::NAN;
    const INFINITY: f64 = f64::INFINITY;
    const NEG_INFINITY: f64 = f64::NEG_INFINITY;

    /// The copies of four children of these likelihoods in the next round, and the mean of these hidden numbers.
    fn resampled(log_weights: [f64; 4], hidden: [f64; 4]) -> ([u32; 4], f64) {
        let parent = Token::root(1, 1, 1);
        let weighed = log_weights.into_iter().zip(hidden).map(|(log_weight, hidden)| Weighed { log_weight, hidden });
        let children = (0..4).zip(weighed).map(|(index, weighed)| (parent.child(index), weighed)).collect();
        let children = Children::from([(parent, children)]);
        let mut filter = Filter { seed: 1, particles: 8, round: 0, next: BTreeMap::new() };
        let estimate = filter.resample(&children);
        ([0, 1, 2, 3].map(|index| filter.next.get(&parent.child(index)).copied().unwrap_or(0)), estimate.mean)
    }

    #[test]
    fn likelihoods_that_are_no_numbers_fit_nothing_and_infinite_ones_fit_alone() {
        let numbers = [0.0, 1.0, 2.0, 3.0];
        assert_eq!(resampled([0.0, NAN, 0.0, NEG_INFINITY], numbers), ([4, 0, 4, 0], 1.0));
        assert_eq!(resampled([0.0, INFINITY, NAN, 5.0], numbers), ([0, 8, 0, 0], 1.0));
        assert_eq!(resampled([NAN, NEG_INFINITY, NAN, NAN], numbers), ([2; 4], 1.5));
    }

    /// A state that has overflowed has such a number and such a likelihood.
    #[test]
    fn a_state_without_weight_does_not_count_in_the_mean() {
        assert_eq!(resampled([0.0, NAN, 0.0, NEG_INFINITY], [0.0, NAN, 2.0, INFINITY]), ([4, 0, 4, 0], 1.0));
    }
}
