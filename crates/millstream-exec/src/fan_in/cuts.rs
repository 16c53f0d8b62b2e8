//! Marks that producers want behind what they have sent.
//!
//! A producer's values wait in its ring until the merge takes them, and only then there is a number at which the mark
//! can be laid. So the producer leaves its wish here, and the merge lays the mark between two of its steps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// A mark that a producer wants: its id, once it is laid.
pub(crate) type WantedCut = Arc<OnceLock<u64>>;

/// The marks that are wanted and not laid.
#[derive(Default)]
pub(super) struct Cuts {
    wanted: Mutex<Vec<Wanted>>,
    /// Whether there are any, for a look without the lock.
    some: AtomicBool,
}

/// A mark behind the first `sent` values of a producer.
pub(super) struct Wanted {
    producer: u32,
    sent: u64,
    /// The mark that was asked for.
    asked: Option<u64>,
    laid: WantedCut,
}

impl Cuts {
    /// Wants a mark behind the first `sent` values of this producer. The caller wakes the run.
    pub(super) fn want(&self, producer: u32, sent: u64) -> WantedCut {
        let laid = WantedCut::default();
        let mut wanted = self.lock();
        wanted.push(Wanted { producer, sent, asked: None, laid: laid.clone() });
        self.some.store(true, Ordering::Relaxed);
        laid
    }

    pub(super) fn any(&self) -> bool {
        self.some.load(Ordering::Relaxed)
    }

    /// Takes the marks that are wanted, to be [laid](Cuts::lay).
    pub(super) fn wanted(&self) -> Vec<Wanted> {
        std::mem::take(&mut *self.lock())
    }

    /// Lays those of the `wanted` marks whose values `are_taken`, and keeps the others. `lay` returns a mark's id once
    /// it is laid, and may run the user's code, so the list is not locked meanwhile. Returns whether one of them has to
    /// wait.
    pub(super) fn lay(
        &self,
        mut wanted: Vec<Wanted>,
        are_taken: impl Fn(u32, u64) -> bool,
        mut lay: impl FnMut(&mut Option<u64>) -> Option<u64>,
    ) -> bool {
        let mut waits = false;
        wanted.retain_mut(|cut| {
            if !are_taken(cut.producer, cut.sent) {
                return true;
            }
            let id = lay(&mut cut.asked);
            waits |= id.is_none();
            // It is set once.
            id.into_iter().for_each(|id| _ = cut.laid.set(id));
            id.is_none()
        });
        let mut since = self.lock();
        wanted.append(&mut since);
        self.some.store(!wanted.is_empty(), Ordering::Relaxed);
        *since = wanted;
        waits
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Wanted>> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
