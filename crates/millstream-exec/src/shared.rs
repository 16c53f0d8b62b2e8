//! What all threads of a run share, the source's among them.

use crate::notes::Notes;
use crate::trace::Trace;
use crate::wait::Patience;
use crate::{RunError, Signal};
use millstream_core::SequenceNumber;
use millstream_core::failure::message;
use std::any::Any;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

pub(crate) struct Shared {
    pub(crate) signal: Signal,
    /// Wakes workers that have no tasklets. They wait for a new placement or the end of the run, and would make every
    /// step of the others a wake-up if they waited for `signal`.
    pub(crate) surplus: Signal,
    pub(crate) patience: Patience,
    stopped: AtomicBool,
    draining: AtomicBool,
    /// Nobody wants what the tasklets before this seat do.
    cancelled: AtomicUsize,
    failure: LeastFailure,
    pub(crate) notes: Notes,
    pub(crate) trace: Arc<Trace>,
    /// The source has published END.
    source_ended: AtomicBool,
}

/// Why a run failed. Of several failures the one at the least number is kept: the same one, as far as can be, in every
/// run.
#[derive(Default)]
pub(crate) struct LeastFailure(Mutex<Option<RunError>>);

impl LeastFailure {
    pub(crate) fn keep(&self, failure: RunError) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|kept| failure.rank() < kept.rank()) {
            *kept = Some(failure);
        }
    }

    pub(crate) fn get(&self) -> Option<RunError> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Shared {
    pub(crate) fn new(patience: Patience, notes: Notes) -> Self {
        Shared {
            signal: Signal::new(),
            surplus: Signal::new(),
            patience,
            stopped: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            cancelled: AtomicUsize::new(0),
            failure: LeastFailure::default(),
            notes,
            trace: Arc::default(),
            source_ended: AtomicBool::new(false),
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Everybody stops at the next step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.signal.notify();
        self.surplus.notify();
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Sources take no further values. Whoever says so notifies.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.trace.draining();
    }

    /// The source has published END: said for whoever watches.
    pub(crate) fn end_source(&self) {
        self.source_ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn source_has_ended(&self) -> bool {
        self.source_ended.load(Ordering::Relaxed)
    }

    /// How many seats, from the first on, are cancelled.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Nobody wants any more what these first tasklets do. The run goes on.
    pub(crate) fn cancel(&self, seats: usize) {
        self.cancelled.fetch_max(seats, Ordering::Relaxed);
        self.signal.notify();
    }

    /// Ends the run because user code of this stage panicked.
    pub(crate) fn fail(&self, stage: &str, number: Option<u64>, payload: &(dyn Any + Send)) {
        let number = number.map(SequenceNumber);
        self.fail_with(RunError::Stage { stage: stage.to_owned(), number, cause: message(payload) });
    }

    /// Ends the run.
    pub(crate) fn fail_with(&self, failure: RunError) {
        self.trace.failed(&failure);
        self.failure.keep(failure);
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    /// Waits until `ready` gives something, or the run is stopped: then none.
    pub(crate) fn wait_for<R>(&self, mut ready: impl FnMut() -> Option<R>) -> Option<R> {
        let mut round = 0_u32;
        loop {
            if let Some(found) = ready() {
                return Some(found);
            }
            if self.stopped() {
                return None;
            }
            round = round.saturating_add(1);
            if self.patience.wait(round) {
                continue;
            }
            let look = || ready().map(Some).or_else(|| self.stopped().then_some(None));
            if let Some(found) = self.signal.park_unless(look) {
                return found;
            }
            round = 0;
        }
    }
}
