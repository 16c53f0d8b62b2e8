//! Advice on the number of workers or consumers, from measurements.

use crate::Rate;
use std::fmt;

/// Rates that differ by less than this fraction count as equal: shared machines are noisy.
const NOISE: f64 = 0.05;

/// A measurement in which more workers moved less, and fewer are therefore better. [`Display`](fmt::Display) says it in
/// words.
///
/// ```
/// use millstream::exec::{Rate, TooMany};
/// // A queue guarded by a lock, by its consumers: each of them makes the others wait.
/// let rates = [(1, 5.0e6), (3, 3.3e6), (5, 2.4e6)]
///     .map(|(consumers, rate)| Rate::new(consumers, rate));
/// let too_many = TooMany::of(&rates).unwrap();
/// assert_eq!((too_many.more.workers, too_many.best.workers), (5, 1));
/// assert_eq!(too_many.to_string(), "5 move 48% of what 1 moves: use 1");
///
/// assert_eq!(TooMany::of(&[Rate::new(1, 1.0e6), Rate::new(2, 1.9e6)]), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct TooMany {
    /// The number of workers that moved most, with its rate.
    pub best: Rate,
    /// Of the larger numbers of workers, the one that moved least.
    pub more: Rate,
}

impl TooMany {
    /// Compares the rates of the same work, one for each number of workers, or of consumers that share the work. None
    /// unless a larger number moved more than 5% less than the best one.
    #[must_use]
    pub fn of(rates: &[Rate]) -> Option<Self> {
        let by_rate = |a: &&Rate, b: &&Rate| a.numbers_per_second.total_cmp(&b.numbers_per_second);
        let best = rates.iter().max_by(by_rate)?;
        let more = rates.iter().filter(|rate| rate.workers > best.workers).min_by(by_rate)?;
        let found = TooMany { best: *best, more: *more };
        (found.share() < 1.0 - NOISE).then_some(found)
    }

    /// The rate of `more` as a fraction of the rate of `best`: less than 1.
    #[must_use]
    pub fn share(&self) -> f64 {
        self.more.numbers_per_second / self.best.numbers_per_second
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (more, best, percent) = (self.more.workers, self.best.workers, self.share() * 100.0);
        let moves = if best == 1 { "moves" } else { "move" };
        write!(f, "{more} move {percent:.0}% of what {best} {moves}: use {best}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(rates: &[(usize, f64)]) -> Option<(usize, usize)> {
        let rates: Vec<_> = rates.iter().map(|(workers, rate)| Rate::new(*workers, *rate)).collect();
        TooMany::of(&rates).map(|found| (found.best.workers, found.more.workers))
    }

    #[test]
    fn a_larger_number_that_moves_less_is_too_many() {
        assert_eq!(of(&[(1, 100.0), (3, 66.0), (5, 48.0)]), Some((1, 5)));
        assert_eq!(of(&[(5, 48.0), (1, 100.0), (3, 40.0)]), Some((1, 3)));
        assert_eq!(of(&[(1, 100.0), (2, 180.0), (4, 150.0)]), Some((2, 4)));
    }

    #[test]
    fn workers_that_pay_and_noise_cause_no_advice() {
        assert_eq!(of(&[(1, 100.0), (2, 180.0)]), None);
        assert_eq!(of(&[(1, 100.0), (2, 60.0), (3, 110.0)]), None);
        assert_eq!(of(&[(1, 100.0), (2, 95.5)]), None);
        assert_eq!(of(&[(1, 100.0)]), None);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(1, 0.0), (2, 0.0)]), None);
    }
}
