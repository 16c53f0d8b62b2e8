//! How long a step of a stage that shares a worker may take.

use std::time::Duration;

/// The budget of a step for which none is set: while it runs, the other stages of its worker wait.
const DEFAULT: Duration = Duration::from_millis(100);

/// The budgets of a run.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Budgets {
    every: Option<Duration>,
    of_stages: Vec<(String, Duration)>,
}

impl Budgets {
    pub(crate) fn every(&mut self, budget: Duration) {
        self.every = Some(budget);
    }

    /// Of several budgets of a stage the last one applies.
    pub(crate) fn of_stage(&mut self, stage: &str, budget: Duration) {
        self.of_stages.insert(0, (stage.to_owned(), budget));
    }

    /// The budget of a step of this stage.
    pub(crate) fn of(&self, stage: &str) -> Duration {
        let own = self.of_stages.iter().find(|(name, _)| name == stage).map(|(_, budget)| *budget);
        own.or(self.every).unwrap_or(DEFAULT)
    }

    /// The budget of all stages that have none of their own.
    pub(crate) fn of_others(&self) -> Duration {
        self.every.unwrap_or(DEFAULT)
    }

    /// Whether any budget is set; then every step is timed.
    pub(crate) fn are_set(&self) -> bool {
        self.every.is_some() || !self.of_stages.is_empty()
    }

    /// The names with a budget that none of these stages has.
    pub(crate) fn without_stage<'a>(&'a self, stages: &[&str]) -> impl Iterator<Item = &'a str> {
        self.of_stages.iter().map(|(name, _)| &**name).filter(|name| !stages.contains(name))
    }
}
