//! How a task ends after a panic.

use super::Task;
use crate::RunError;
use crate::shared::{FailedAt, Payload, Shared};
use millstream_core::failure::discard;
use std::sync::atomic::Ordering;

impl Task {
    /// Records a panic of the user's code in this tasklet.
    pub(super) fn broken(&self, shared: &Shared, number: Option<u64>, payload: Payload) -> Broken {
        self.broken_in((&self.name, self.clock), shared, number, payload)
    }

    /// As [`broken`](Task::broken), in a stage of a loop, at a number of this clock.
    pub(super) fn broken_in(
        &self,
        (stage, clock): (&str, usize),
        shared: &Shared,
        number: Option<u64>,
        payload: Payload,
    ) -> Broken {
        self.broken.store(true, Ordering::Relaxed);
        let at = FailedAt::new(clock, number, self.order);
        let failure = RunError::unwound(stage, number, payload.as_ref());
        shared.note_failure(at, failure.clone());
        Broken { failure: Some(failure), payload }
    }
}

/// A panic's payload, and the failure it caused.
pub(super) struct Broken {
    /// None if the panic does not fail the run.
    failure: Option<RunError>,
    payload: Payload,
}

impl Broken {
    pub(super) fn ignored(payload: Payload) -> Self {
        Broken { failure: None, payload }
    }

    /// Reports the failure and drops the payload. Both may run user code: no lock is held here.
    pub(super) fn report(self, shared: &Shared) {
        if let Some(failure) = &self.failure {
            shared.report_failure(failure);
        }
        discard(self.payload);
    }
}
