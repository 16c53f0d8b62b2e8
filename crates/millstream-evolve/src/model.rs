use crate::evolve::Children;
use crate::{Evolve, EvolveError, EvolveMany, Token};
use std::collections::BTreeMap;

/// The definition of an evolving population: `zip_with(evolve)` over a map of states, on this thread.
///
/// ```
/// use millstream::evolve::{Evolve, EvolveMany, Model, Random};
/// use std::collections::BTreeMap;
///
/// struct Halves;
/// impl Evolve for Halves {
///     type State = u64;
///     type Input = ();
///     type Output = u64;
///     fn evolve(&self, n: &u64, _: &(), _: &mut Random) -> Vec<(u64, u64)> {
///         if *n < 2 { vec![] } else { vec![(n / 2, n / 2), (n - n / 2, n - n / 2)] }
///     }
/// }
///
/// let mut model = Model::new(Halves, 0);
/// let tokens = model.reset_states(vec![7, 1])?;
/// let children = model.evolve_many(tokens.iter().map(|token| (*token, ())).collect())?;
/// assert_eq!(children[&tokens[0]], [(tokens[0].child(0), 3), (tokens[0].child(1), 4)]);
/// assert_eq!(children[&tokens[1]], []);
/// # Ok::<(), millstream::evolve::EvolveError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Model<E: Evolve> {
    evolve: E,
    seed: u64,
    resets: u64,
    states: BTreeMap<Token, E::State>,
}

impl<E: Evolve> Model<E> {
    /// A population without states. Its tokens depend on this seed.
    pub fn new(evolve: E, seed: u64) -> Self {
        Model { evolve, seed, resets: 0, states: BTreeMap::new() }
    }
}

impl<E: Evolve> EvolveMany<E> for Model<E> {
    fn reset_states(&mut self, states: Vec<E::State>) -> Result<Vec<Token>, EvolveError> {
        let tokens: Vec<_> = (0..states.len() as u64).map(|index| Token::root(self.seed, self.resets, index)).collect();
        self.resets += 1;
        self.states = tokens.iter().copied().zip(states).collect();
        Ok(tokens)
    }

    fn evolve_many(&mut self, inputs: BTreeMap<Token, E::Input>) -> Result<Children<E::Output>, EvolveError> {
        let (mut population, mut outputs) = (BTreeMap::new(), BTreeMap::new());
        for (token, input) in inputs {
            let state = self.states.get(&token).ok_or(EvolveError::Unknown(token))?;
            let children = self.evolve.evolve(state, &input, &mut token.random());
            let mut named = Vec::with_capacity(children.len());
            for ((state, output), index) in children.into_iter().zip(0..) {
                population.insert(token.child(index), state);
                named.push((token.child(index), output));
            }
            outputs.insert(token, named);
        }
        self.states = population;
        Ok(outputs)
    }
}
