use crate::{EvolveError, Random, Token};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// A function from a state to any number of children, each with an output.
///
/// The result may depend on the arguments alone: if a state is lost, another worker computes it again. The master
/// checks that the state then has the same number of children as before.
pub trait Evolve: Send + Sync + 'static {
    /// A state. It stays on the worker where it was made. It is sent only to a worker that has run dry, or to the
    /// master as a backup.
    type State: Serialize + DeserializeOwned + Clone + Send + 'static;
    /// The input of a state in a round.
    type Input: Serialize + DeserializeOwned + Clone + Send + 'static;
    /// The output of a child.
    type Output: Serialize + DeserializeOwned + Clone + Send + 'static;

    /// The children of a state, each with its output. `random` is the state's own stream of random numbers.
    ///
    /// A panic ends the round with an error that names the token. A worker sends nothing while it evolves a state. If
    /// one takes longer than [`Tuning::patience`](crate::Tuning::patience), 60 s by default, its worker is given up,
    /// and so is each that tries the state next, until the round ends with an error.
    fn evolve(&self, state: &Self::State, input: &Self::Input, random: &mut Random)
    -> Vec<(Self::State, Self::Output)>;
}

/// The children of each state of a round, with their outputs.
pub type Children<O> = BTreeMap<Token, Vec<(Token, O)>>;

/// A population that evolves. [`Model`](crate::Model) is the definition, on a map in this thread;
/// [`Population`](crate::Population) has the same result on many workers.
pub trait EvolveMany<E: Evolve> {
    /// Replaces the population by these states. Returns their tokens, in the order of the states.
    ///
    /// # Errors
    ///
    /// If no worker is left, or none answers, or a state cannot be written or read.
    fn reset_states(&mut self, states: Vec<E::State>) -> Result<Vec<Token>, EvolveError>;

    /// Evolves each named state by its input. The children are the new population; states without an input are
    /// forgotten.
    ///
    /// # Errors
    ///
    /// If a token names no state, an evolution panics, or no worker is left. After an error a
    /// [`Population`](crate::Population) takes no states and no inputs any more: begin a new one.
    fn evolve_many(&mut self, inputs: BTreeMap<Token, E::Input>) -> Result<Children<E::Output>, EvolveError>;
}
