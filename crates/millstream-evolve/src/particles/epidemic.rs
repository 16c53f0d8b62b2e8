use super::Particle;
use crate::Random;
use rand_distr::{Binomial, Distribution, Poisson};
use serde::{Deserialize, Serialize};

/// An epidemic in a closed town. People are infected, fall ill, and are then immune, each by chance and day by day: the
/// chain-binomial SIR model of Reed and Frost. Of each day's infections a share is reported; the number of ill people
/// is hidden.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epidemic {
    /// The number of people.
    pub people: u64,
    /// The number of ill people at first.
    pub ill: u64,
    /// The number of people that an ill person infects in a day if all others can be infected.
    pub infects: f64,
    /// The share of ill people who recover in a day.
    pub recovers: f64,
    /// The share of infections that are reported.
    pub reported: f64,
}

/// The people who can be infected, who are ill, and who were infected today.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Town {
    open: u64,
    ill: u64,
    new: u64,
}

impl Default for Epidemic {
    fn default() -> Self {
        Epidemic { people: 10_000, ill: 20, infects: 0.4, recovers: 0.15, reported: 0.3 }
    }
}

impl Epidemic {
    fn expected(&self, town: &Town) -> f64 {
        // Reports without an infection occur too, so no observation is impossible.
        self.reported * town.new as f64 + 0.1
    }
}

fn some(of: u64, likely: f64, random: &mut Random) -> u64 {
    Binomial::new(of, likely.clamp(0.0, 1.0)).map_or(0, |binomial| binomial.sample(random))
}

impl Particle for Epidemic {
    type State = Town;

    fn begin(&self, random: &mut Random) -> Town {
        // It is known that few people are ill, but not how few.
        let ill = some(self.ill.saturating_mul(2), 0.5, random).max(1).min(self.people);
        Town { open: self.people - ill, ill, new: 0 }
    }

    fn step(&self, town: &Town, random: &mut Random) -> Town {
        let met = self.infects * town.ill as f64 / self.people as f64;
        let new = some(town.open, 1.0 - (-met).exp(), random);
        let well = some(town.ill, self.recovers, random);
        Town { open: town.open - new, ill: town.ill + new - well, new }
    }

    fn observe(&self, town: &Town, random: &mut Random) -> f64 {
        Poisson::new(self.expected(town)).map_or(0.0, |poisson| poisson.sample(random))
    }

    fn log_likelihood(&self, town: &Town, observation: f64) -> f64 {
        let expected = self.expected(town);
        observation * expected.ln() - expected
    }

    fn hidden(&self, town: &Town) -> f64 {
        town.ill as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Token;

    #[test]
    fn no_person_is_lost_and_an_epidemic_ends() {
        let (town, mut random) = (Epidemic::default(), Token::root(0, 0, 0).random());
        let mut now = town.begin(&mut random);
        for _ in 0..400 {
            let next = town.step(&now, &mut random);
            assert!(next.open + next.ill <= now.open + now.ill && next.open <= now.open);
            now = next;
        }
        assert_eq!(now.ill, 0);
        // The final size of an epidemic in which each infects 0.4 / 0.15 others: 0.91 of the town.
        let ever = (town.people - now.open) as f64 / town.people as f64;
        assert!((0.85..0.97).contains(&ever), "{ever}");
    }

    #[test]
    fn no_more_are_ill_than_there_are() {
        let (town, mut random) =
            (Epidemic { people: 10, ill: 20, ..Epidemic::default() }, Token::root(0, 0, 0).random());
        for _ in 0..100 {
            let begun = town.begin(&mut random);
            assert_eq!((begun.open + begun.ill, town.step(&begun, &mut random).ill <= 10), (10, true));
        }
    }
}
