//! Particle filters: estimates of a hidden state from observations.
//!
//! A [`Particle`] defines how a hidden state moves, and how likely an observation is. [`Bootstrap`] makes an
//! [`Evolve`](crate::Evolve) of it. [`Filter`] runs a population through the observations: in each round, systematic
//! resampling turns the weight of a state into its number of children. This is the bootstrap filter of Gordon, Salmond
//! and Smith (1993).

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

/// A hidden state that moves, and its observations.
pub trait Particle: Clone + Send + Sync + 'static {
    /// The hidden state.
    type State: Serialize + DeserializeOwned + Clone + Send + 'static;

    /// A random state before the first observation.
    fn begin(&self, random: &mut Random) -> Self::State;

    /// The state one step later.
    fn step(&self, state: &Self::State, random: &mut Random) -> Self::State;

    /// A random observation of a state.
    fn observe(&self, state: &Self::State, random: &mut Random) -> f64;

    /// The logarithm of the likelihood of this observation in this state, up to a constant that is the same in all
    /// states.
    fn log_likelihood(&self, state: &Self::State, observation: f64) -> f64;

    /// The number to be estimated.
    fn hidden(&self, state: &Self::State) -> f64;
}
