//! What a run tells `tracing`: with the feature of that name, and else nothing.
//!
//! A run is a span, `run`, from its start until it is waited for or dropped. In it are events: `started`; `placed` for every
//! decision about workers; `draining`; `failed` with the stage, the number and the cause; `ended` with how and after how long.

use crate::{Report, RunError};
use millstream_core::Plan;

/// A run's span.
#[derive(Default)]
pub(crate) struct Trace {
    #[cfg(feature = "tracing")]
    span: std::sync::Mutex<Option<tracing::Span>>,
}

#[cfg(feature = "tracing")]
impl Trace {
    fn within(&self, tell: impl FnOnce()) {
        let span = self.span.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
        if let Some(span) = span {
            span.in_scope(tell);
        }
    }

    /// The run begins.
    pub(crate) fn started(&self, plan: &Plan, workers: usize, ring_bytes: usize) {
        let stages = plan.stages.len();
        let span = tracing::info_span!("run", stages, workers, ring_bytes);
        *self.span.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(span);
        self.within(|| tracing::info!(stages, workers, ring_bytes, "started"));
    }

    /// Something was decided about the workers.
    pub(crate) fn placed(&self, decision: &str) {
        self.within(|| tracing::info!(decision, "placed"));
    }

    /// The source is to end.
    pub(crate) fn draining(&self) {
        self.within(|| tracing::info!("draining"));
    }

    /// Something failed; of several failures the report tells one.
    pub(crate) fn failed(&self, failure: &RunError) {
        self.within(|| match failure {
            RunError::Stage { stage, number, cause } => {
                tracing::error!(stage, number = number.map(|number| number.0), cause, "failed");
            }
            other => tracing::error!(cause = %other, "failed"),
        });
    }

    /// The run is over.
    pub(crate) fn ended(&self, report: &Report) {
        let (ending, seconds) = (format!("{:?}", report.ending).to_lowercase(), report.elapsed.as_secs_f64());
        self.within(|| tracing::info!(ending, seconds, workers = report.workers, "ended"));
        *self.span.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = None;
    }
}

#[cfg(not(feature = "tracing"))]
impl Trace {
    pub(crate) fn started(&self, _: &Plan, _: usize, _: usize) {}

    pub(crate) fn placed(&self, _: &str) {}

    pub(crate) fn draining(&self) {}

    pub(crate) fn failed(&self, _: &RunError) {}

    pub(crate) fn ended(&self, _: &Report) {}
}
