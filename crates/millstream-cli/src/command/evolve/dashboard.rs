//! The page of a population.

use super::Evolve;
use super::report::{metrics, population};
use crate::message::Complaints;
use millstream_evolve::{EvolveError, Glance};
use millstream_observe::Dashboard;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two updates during a round.
const INTERVAL: Duration = Duration::from_millis(200);

/// The most points of a line that the page draws: it is 600 wide.
const POINTS: usize = 600;

/// The state of the rounds, and the page that shows it.
#[derive(Clone)]
pub(super) struct Shown(Arc<(Dashboard, Mutex<Now>)>);

struct Now {
    model: String,
    /// The rounds of the run.
    rounds: u64,
    /// By round, of all rounds.
    truth: Vec<f64>,
    /// By round, until now.
    estimate: Vec<f64>,
    last: Option<Instant>,
}

impl Now {
    /// The value of the page. Of many rounds, the lines have one in `every` few, and the last one.
    fn value(&self, population: &Value) -> Value {
        let rounds = self.estimate.len();
        let every = rounds.div_ceil(POINTS).max(1);
        let drawn =
            (0..rounds).step_by(every).chain((rounds > 0 && !(rounds - 1).is_multiple_of(every)).then(|| rounds - 1));
        let line = |of: &[f64]| drawn.clone().map(|round| of[round]).collect::<Vec<_>>();
        json!({
            "model": self.model, "rounds": self.rounds, "round": rounds, "every": every,
            "truth": line(&self.truth), "estimate": line(&self.estimate), "population": population,
        })
    }
}

impl Shown {
    /// Opens the page and prints its address, if the flags ask for one. `truth` is that of all rounds.
    ///
    /// # Errors
    ///
    /// If the page cannot be opened.
    pub(super) fn open(
        evolve: &Evolve,
        name: &str,
        truth: &[f64],
        complaints: &Complaints,
    ) -> Result<Option<Self>, EvolveError> {
        let Some(address) = evolve.page.as_deref() else { return Ok(None) };
        let failed = |error| EvolveError::Io(format!("--page {address}"), error);
        let dashboard = Dashboard::open(address, include_str!("page.html")).map_err(failed)?;
        if !evolve.quiet {
            complaints.note(&format!("the population is shown at http://{}/", dashboard.address()));
        }
        dashboard.measured(metrics);
        let (model, truth) = (name.to_owned(), truth.to_owned());
        let now = Now { model, rounds: evolve.rounds, truth, estimate: Vec::new(), last: None };
        Ok(Some(Shown(Arc::new((dashboard, Mutex::new(now))))))
    }

    fn now(&self) -> MutexGuard<'_, Now> {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Updates the page during a round.
    pub(super) fn glance(&self, glance: &Glance<'_>) {
        let mut now = self.now();
        if now.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            now.last = Some(Instant::now());
            self.0.0.show(now.value(&population(glance)));
        }
    }

    /// Adds rounds that have ended, by their estimates.
    pub(super) fn rounds(&self, estimates: &[f64]) {
        self.now().estimate.extend(estimates);
    }

    /// Updates the page after the last round.
    pub(super) fn end(&self, glance: &Glance<'_>) {
        self.now().last = None;
        self.glance(glance);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_many_rounds_has_its_ends_and_few_points() {
        for (rounds, every) in [(0, 1), (1, 1), (2, 1), (600, 1), (601, 2), (1201, 3), (100_000, 167)] {
            let truth: Vec<f64> = (0..100_000).map(f64::from).collect();
            let estimate: Vec<f64> = truth[..rounds].iter().map(|truth| truth + 0.5).collect();
            let now = Now { model: "m".to_owned(), rounds: 100_000, truth, estimate, last: None };
            let value = now.value(&Value::Null);
            assert_eq!((&value["round"], &value["every"]), (&json!(rounds), &json!(every)));
            let line = |name: &str| serde_json::from_value::<Vec<f64>>(value[name].clone()).unwrap();
            let (truth, estimate) = (line("truth"), line("estimate"));
            assert!(truth.len() <= POINTS + 1 && truth.len() == estimate.len(), "{rounds}: {truth:?}");
            assert_eq!(truth.last().copied(), rounds.checked_sub(1).map(|last| last as f64));
            for (point, (truth, estimate)) in truth.iter().zip(&estimate).enumerate() {
                let round = (point * every).min(rounds - 1) as f64;
                assert_eq!((*truth, *estimate), (round, round + 0.5), "{rounds}");
            }
        }
    }
}
