//! The `tracing` events of a run, with the feature of that name.
//!
//! A run is a span, `run`, from its start until it is waited for or dropped. Its events are: `started`;
//! `likely mistake` for every [warning](millstream_core::plan::Warning) of its plan; `placed` for every decision about
//! workers; `upgraded` for a change of the pipeline, and `refused` for one that was not carried out; `shadow` for a
//! version that begins to run beside the run's, and `shadow ended`; `draining`; `failed` with the stage, the number and
//! the cause; `ended` with the outcome and the duration.

use crate::{ChangeReport, ProducerPanic, RefusedChange, Report, RunError, ShadowEnd};
#[cfg(feature = "tracing")]
use millstream_core::failure::{caught, discard};
use millstream_core::{Plan, SequenceNumber};

/// A run's span.
#[derive(Default)]
pub(crate) struct Trace {
    #[cfg(feature = "tracing")]
    span: std::sync::Mutex<Option<std::sync::Arc<tracing::Span>>>,
}

#[cfg(feature = "tracing")]
impl Trace {
    fn span(&self) -> std::sync::MutexGuard<'_, Option<std::sync::Arc<tracing::Span>>> {
        self.span.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Emits an event in the run's span, and then releases the span. A subscriber is the user's code: no lock is held
    /// meanwhile, and its panic does not fail the run.
    fn within(span: Option<std::sync::Arc<tracing::Span>>, emit: impl FnOnce()) {
        let Some(span) = span else { return };
        caught(|| span.in_scope(emit)).unwrap_or_else(discard);
        // Separate from the event: dropping the last handle closes the span, and two panics must not unwind at once.
        caught(|| drop(span)).unwrap_or_else(discard);
    }

    fn emit(&self, emit: impl FnOnce()) {
        let span = self.span().clone();
        Self::within(span, emit);
    }

    /// The run begins.
    pub(crate) fn started(&self, plan: &Plan, workers: usize, ring_bytes: usize) {
        let stages = plan.stages.len();
        let span = caught(|| tracing::info_span!("run", stages, workers, ring_bytes)).map_err(discard).ok();
        *self.span() = span.map(std::sync::Arc::new);
        self.emit(|| tracing::info!(stages, workers, ring_bytes, "started"));
        for warning in &plan.warnings {
            let why = warning.to_string();
            self.emit(|| tracing::warn!(why, "likely mistake"));
        }
    }

    /// A decision about the workers was made.
    pub(crate) fn placed(&self, decision: &str) {
        self.emit(|| tracing::info!(decision, "placed"));
    }

    /// The source is asked to end.
    pub(crate) fn draining(&self) {
        self.emit(|| tracing::info!("draining"));
    }

    /// A failure; of several failures the report contains one.
    pub(crate) fn failed(&self, failure: &RunError) {
        self.emit(|| match failure {
            RunError::Stage { stage, number, cause } => {
                tracing::error!(stage, number = number.map(|number| number.0), cause = &**cause, "failed");
            }
            other => tracing::error!(cause = %other, "failed"),
        });
    }

    /// A producer ended by a panic, and the run goes on.
    pub(crate) fn producer_panicked(&self, panic: &ProducerPanic) {
        let ProducerPanic { producer, sent, thread } = panic;
        self.emit(|| tracing::warn!(producer, sent, thread, "producer panicked"));
    }

    /// Another pipeline has taken the place of the run's.
    pub(crate) fn upgraded(&self, change: &ChangeReport) {
        let ChangeReport { version, at, states_moved, reason, .. } = change;
        let (at, seconds, reason) = (at.0, change.longest_pause().as_secs_f64(), reason.as_deref());
        self.emit(|| tracing::info!(version, at, states_moved, seconds, reason, "upgraded"));
    }

    /// A change was not carried out.
    pub(crate) fn refused(&self, refused: &RefusedChange) {
        let (at, reason, why) = (refused.at.map(|at| at.0), refused.reason.as_deref(), &*refused.why);
        self.emit(|| tracing::warn!(at, reason, why, "refused"));
    }

    /// Another version begins to run beside the run's.
    pub(crate) fn shadow(&self, SequenceNumber(at): SequenceNumber) {
        self.emit(|| tracing::info!(at, "shadow"));
    }

    /// The shadow has ended.
    pub(crate) fn shadow_over(&self, end: &ShadowEnd) {
        let why = end.to_string();
        self.emit(|| match end {
            ShadowEnd::CutOver | ShadowEnd::Dropped => tracing::info!(why, "shadow ended"),
            _ => tracing::warn!(why, "shadow ended"),
        });
    }

    /// The run is over.
    pub(crate) fn ended(&self, report: &Report) {
        let (ending, seconds) = (format!("{:?}", report.outcome).to_lowercase(), report.elapsed.as_secs_f64());
        let span = self.span().take();
        Self::within(span, || tracing::info!(ending, seconds, workers = report.workers, "ended"));
    }
}

#[cfg(not(feature = "tracing"))]
impl Trace {
    pub(crate) fn started(&self, _: &Plan, _: usize, _: usize) {}

    pub(crate) fn placed(&self, _: &str) {}

    pub(crate) fn draining(&self) {}

    pub(crate) fn producer_panicked(&self, _: &ProducerPanic) {}

    pub(crate) fn upgraded(&self, _: &ChangeReport) {}

    pub(crate) fn refused(&self, _: &RefusedChange) {}

    pub(crate) fn shadow(&self, _: SequenceNumber) {}

    pub(crate) fn shadow_over(&self, _: &ShadowEnd) {}

    pub(crate) fn failed(&self, _: &RunError) {}

    pub(crate) fn ended(&self, _: &Report) {}
}
