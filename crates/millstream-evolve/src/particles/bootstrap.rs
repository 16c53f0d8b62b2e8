use super::Particle;
use crate::{Evolve, Random};
use rand::RngCore;
use serde::{Deserialize, Serialize};

/// A particle that evolves: as many children as it is told, each a step away, with its weight.
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap<P> {
    /// How it moves.
    pub particle: P,
    /// So many random numbers are drawn for every child and thrown away, to make it dear: a million take some 5 ms.
    pub work: u64,
}

/// What a state is told in a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BootstrapInput {
    /// What was seen.
    pub observation: f64,
    /// How many children it is to have.
    pub children: u32,
}

/// What a child tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// The logarithm of how likely the observation is in its state.
    pub log_weight: f64,
    /// What is to be estimated, in its state.
    pub hidden: f64,
}

impl<P: Particle> Evolve for Bootstrap<P> {
    type State = P::State;
    type Input = BootstrapInput;
    type Output = Weighed;

    fn evolve(&self, state: &P::State, told: &BootstrapInput, random: &mut Random) -> Vec<(P::State, Weighed)> {
        let child = |_| {
            for _ in 0..self.work {
                std::hint::black_box(random.next_u32());
            }
            let next = self.particle.step(state, random);
            let log_weight = self.particle.log_likelihood(&next, told.observation);
            let hidden = self.particle.hidden(&next);
            (next, Weighed { log_weight, hidden })
        };
        (0..told.children).map(child).collect()
    }
}
