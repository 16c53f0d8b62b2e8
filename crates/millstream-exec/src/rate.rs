/// The rate of some work with a number of workers, or of consumers that share it. Placement compares rates, and
/// [`TooMany`](crate::TooMany) judges them.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Rate {
    /// The number of workers.
    pub workers: usize,
    /// Numbers that all stages together moved a second.
    pub numbers_per_second: f64,
}

impl Rate {
    /// A rate measured elsewhere.
    #[must_use]
    pub fn new(workers: usize, numbers_per_second: f64) -> Self {
        Rate { workers, numbers_per_second }
    }
}
