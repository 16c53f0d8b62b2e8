use crate::{EvolveError, Random, Token};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// What a state becomes: any number of children, each with an output.
///
/// The result may depend on the arguments and on nothing else, since a state is computed again, on another worker, when
/// the first one is lost. A worker checks that it has as many children then as before.
pub trait Evolve: Send + Sync + 'static {
    /// What stays where it was made. It is sent only when another worker has nothing left to do, and where it is kept in
    /// case a worker is lost.
    type State: Serialize + DeserializeOwned + Clone + Send + 'static;
    /// What a state is told in a round.
    type Input: Serialize + DeserializeOwned + Clone + Send + 'static;
    /// What is told of a child.
    type Output: Serialize + DeserializeOwned + Clone + Send + 'static;

    /// The children of a state, each with its output. Random numbers come from `random`, which is the state's own.
    ///
    /// A panic ends the round with an error that names the token.
    fn evolve(&self, state: &Self::State, input: &Self::Input, random: &mut Random)
    -> Vec<(Self::State, Self::Output)>;
}

/// The children of each state of a round, with their outputs.
pub type Children<O> = BTreeMap<Token, Vec<(Token, O)>>;

/// A population that evolves, whoever computes it. [`Model`](crate::Model) says what it means, on a map;
/// [`Population`](crate::Population) does the same on many workers.
pub trait EvolveMany<E: Evolve> {
    /// Forgets the population and begins with these states. Their tokens are in the states' order.
    ///
    /// # Errors
    ///
    /// Where no worker is left, or none answers.
    fn reset_states(&mut self, states: Vec<E::State>) -> Result<Vec<Token>, EvolveError>;

    /// Evolves the named states, each by its input. Their children are the population from now on; states that are not
    /// named are forgotten.
    ///
    /// # Errors
    ///
    /// Where a token names no state, an evolution panics, or no worker is left. The population is of no use then.
    fn evolve_many(&mut self, inputs: BTreeMap<Token, E::Input>) -> Result<Children<E::Output>, EvolveError>;
}
