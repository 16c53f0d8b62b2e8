//! The page of a population.

use super::Evolve;
use super::report::{metrics, population};
use crate::message::Complaints;
use millstream_evolve::{EvolveError, Glance};
use millstream_observe::Dashboard;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The least time between two updates during a round.
const INTERVAL: Duration = Duration::from_millis(200);

/// The state of the rounds, and the page that shows it.
#[derive(Clone)]
pub(super) struct Shown(Arc<(Dashboard, Mutex<Now>)>);

struct Now {
    what: Value,
    last: Option<Instant>,
}

impl Shown {
    /// Opens the page and prints its address, if the flags ask for one.
    ///
    /// # Errors
    ///
    /// If the page cannot be opened.
    pub(super) fn open(evolve: &Evolve, name: &str, complaints: &Complaints) -> Result<Option<Self>, EvolveError> {
        let Some(address) = evolve.page.as_deref() else { return Ok(None) };
        let failed = |error| EvolveError::Io(format!("--page {address}"), error);
        let dashboard = Dashboard::open(address, include_str!("page.html")).map_err(failed)?;
        if !evolve.quiet {
            complaints.note(&format!("the population is shown at http://{}/", dashboard.address()));
        }
        dashboard.measured(metrics);
        let what = json!({ "model": name, "rounds": evolve.rounds, "round": 0, "truth": [], "estimate": [] });
        Ok(Some(Shown(Arc::new((dashboard, Mutex::new(Now { what, last: None }))))))
    }

    /// Updates the page during a round.
    pub(super) fn glance(&self, glance: &Glance<'_>) {
        let (dashboard, now) = &*self.0;
        let mut now = now.lock().unwrap_or_else(PoisonError::into_inner);
        if now.last.is_none_or(|last| last.elapsed() >= INTERVAL) {
            now.last = Some(Instant::now());
            now.what["population"] = population(glance);
            dashboard.show(now.what.clone());
        }
    }

    /// Updates the rounds after one has ended.
    pub(super) fn round(&self, truth: &[f64], estimate: &[f64]) {
        let mut now = self.0.1.lock().unwrap_or_else(PoisonError::into_inner);
        now.what["round"] = estimate.len().into();
        (now.what["truth"], now.what["estimate"]) = (json!(truth[..estimate.len()]), json!(estimate));
    }

    /// Updates the page after the last round.
    pub(super) fn end(&self, glance: &Glance<'_>) {
        self.0.1.lock().unwrap_or_else(PoisonError::into_inner).last = None;
        self.glance(glance);
    }
}
