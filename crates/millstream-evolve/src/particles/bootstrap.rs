use super::Particle;
use crate::{Evolve, Random};
use rand::RngCore;
use serde::{Deserialize, Serialize};

/// The evolution of a particle: it has as many children as its input says. Each is one step later, and has a weight.
#[derive(Clone, Copy, Debug)]
pub struct Bootstrap<P> {
    /// How the hidden state moves.
    pub particle: P,
    /// The number of random numbers that are drawn for each child and thrown away, to make a child more expensive. A
    /// million take about 5 ms.
    pub work: u64,
}

/// The input of a state in a round.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct BootstrapInput {
    /// The observation of the round.
    pub observation: f64,
    /// The number of children.
    pub children: u32,
}

/// The output of a child.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Weighed {
    /// The logarithm of the likelihood of the observation in its state.
    pub log_weight: f64,
    /// The number to be estimated, in its state.
    pub hidden: f64,
}

impl<P: Particle> Evolve for Bootstrap<P> {
    type State = P::State;
    type Input = BootstrapInput;
    type Output = Weighed;

    fn evolve(&self, state: &P::State, input: &BootstrapInput, random: &mut Random) -> Vec<(P::State, Weighed)> {
        let child = |_| {
            for _ in 0..self.work {
                std::hint::black_box(random.next_u32());
            }
            let next = self.particle.step(state, random);
            let log_weight = self.particle.log_likelihood(&next, input.observation);
            let hidden = self.particle.hidden(&next);
            (next, Weighed { log_weight, hidden })
        };
        (0..input.children).map(child).collect()
    }
}
