use super::{Children, Evolve, EvolveMany, Token};

/// Runs these rounds, each of which leaves some states out. Returns the children of each round.
pub(crate) fn go_on<E: Evolve<Input = u64>>(
    many: &mut impl EvolveMany<E>,
    mut tokens: Vec<Token>,
    rounds: std::ops::Range<u64>,
) -> Vec<Children<E::Output>> {
    rounds
        .map(|round| {
            let named = tokens.iter().filter(|token| token.bytes()[0] % 8 != 0);
            let children = many.evolve_many(named.map(|token| (*token, round)).collect()).unwrap();
            tokens = children.values().flatten().map(|(token, _)| *token).collect();
            children
        })
        .collect()
}
