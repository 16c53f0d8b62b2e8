//! What the tasks of a version that runs beside the running one share with the run.

use super::shadow_end::ShadowEnd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What a shadow and the run share.
pub(crate) struct ShadowState {
    over: AtomicBool,
    end: Mutex<Option<ShadowEnd>>,
    /// How many numbers were compared and agree.
    pub(crate) agreed: AtomicU64,
}

impl ShadowState {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(ShadowState { over: AtomicBool::new(false), end: Mutex::default(), agreed: AtomicU64::new(0) })
    }

    fn lock(&self) -> MutexGuard<'_, Option<ShadowEnd>> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the shadow, and returns whether it had not ended before. Its tasklets drop their values at their next step.
    /// Only the run's marks call this, which take it out of their count.
    pub(crate) fn finish(&self, end: &ShadowEnd) -> bool {
        let mut known = self.lock();
        if known.is_some() {
            return false;
        }
        // What has taken the place of the running version is stepped on.
        self.over.store(*end != ShadowEnd::CutOver, Ordering::Release);
        *known = Some(end.clone());
        true
    }

    /// Records that the shadow was refused.
    pub(crate) fn has_not_begun(&self) {
        self.lock().get_or_insert(ShadowEnd::Dropped);
    }

    /// Whether its tasklets are to be dropped.
    pub(crate) fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    pub(crate) fn end(&self) -> Option<ShadowEnd> {
        self.lock().clone()
    }
}
