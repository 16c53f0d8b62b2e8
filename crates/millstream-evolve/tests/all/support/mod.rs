//! A population for tests.

mod rounds;

use millstream_evolve::{Children, Evolve, EvolveMany, Model, Options, Random, Secret, Token};
use rand::Rng;
pub(crate) use rounds::go_on;

/// Numbers that wander. A state has one child on average.
#[derive(Clone, Debug)]
pub(crate) struct Walk;

/// The evolution of this state panics.
pub(crate) const PANICS: u64 = 0xdead;

impl Evolve for Walk {
    type State = u64;
    type Input = u64;
    type Output = u64;

    fn evolve(&self, state: &u64, input: &u64, random: &mut Random) -> Vec<(u64, u64)> {
        assert_ne!(*state, PANICS, "no");
        let children = [0, 1, 1, 2][random.random_range(0..4)];
        (0..children)
            .map(|_| {
                let next = state.rotate_left(9) ^ input ^ random.random::<u64>();
                (next, next / 3)
            })
            .collect()
    }
}

/// The options of a population over the program `walk`, with the secret `s`.
pub(crate) fn options() -> Options {
    Options { program: b"walk".to_vec(), ..Options::new(Secret::new("s")) }
}

/// The children of each round.
pub(crate) fn rounds(many: &mut impl EvolveMany<Walk>, states: u64, number: u64) -> Vec<Children<u64>> {
    let tokens = many.reset_states((0..states).collect()).unwrap();
    go_on(many, tokens, 0..number)
}

/// The same rounds on the model.
pub(crate) fn modelled(states: u64, number: u64) -> Vec<Children<u64>> {
    rounds(&mut Model::new(Walk, 7), states, number)
}
