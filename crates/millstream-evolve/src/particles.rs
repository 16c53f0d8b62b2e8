//! Particle filters: what is hidden, from what is seen.
//!
//! A [`Particle`] says how a hidden state moves and how likely an observation is. [`Bootstrap`] makes an [`Evolve`](crate::Evolve) of it, and
//! [`Filter`] drives a population through the observations: every state has as many children as its weight was worth in the
//! round before, by systematic resampling. That is the bootstrap filter of Gordon, Salmond and Smith (1993).

mod bootstrap;
mod epidemic;
mod exact;
mod filter;
mod linear;
mod scene;
mod volatility;

pub use bootstrap::{Bootstrap, BootstrapInput, Weighed};
pub use epidemic::{Epidemic, Town};
pub use exact::{Estimated, grid, kalman};
pub use filter::{Estimate, Filter};
pub use linear::Linear;
pub use scene::{Scene, rmse};
pub use volatility::Volatility;

use crate::Random;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// How a hidden state moves, and what is seen of it.
pub trait Particle: Clone + Send + Sync + 'static {
    /// What is hidden.
    type State: Serialize + DeserializeOwned + Clone + Send + 'static;

    /// A state as it may be before the first observation.
    fn begin(&self, random: &mut Random) -> Self::State;

    /// The state one step later.
    fn step(&self, state: &Self::State, random: &mut Random) -> Self::State;

    /// What is seen of a state.
    fn observe(&self, state: &Self::State, random: &mut Random) -> f64;

    /// The logarithm of how likely this observation is in this state, but for what is the same in all states.
    fn log_likelihood(&self, state: &Self::State, observation: f64) -> f64;

    /// The number that is to be estimated.
    fn hidden(&self, state: &Self::State) -> f64;
}
