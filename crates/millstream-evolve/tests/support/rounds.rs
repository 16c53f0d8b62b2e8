use super::{Children, Evolve, EvolveMany, Token};

/// What these rounds tell. Some states are left out each time.
pub(crate) fn go_on<E: Evolve<Input = u64>>(
    many: &mut impl EvolveMany<E>,
    mut tokens: Vec<Token>,
    rounds: std::ops::Range<u64>,
) -> Vec<Children<E::Output>> {
    rounds
        .map(|round| {
            let named = tokens.iter().filter(|token| token.bytes()[0] % 8 != 0);
            let told = many.evolve_many(named.map(|token| (*token, round)).collect()).unwrap();
            tokens = told.values().flatten().map(|(token, _)| *token).collect();
            told
        })
        .collect()
}
