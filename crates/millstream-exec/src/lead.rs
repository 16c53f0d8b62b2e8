//! Which thread runs the stages: the workers, or one other.

use crate::sync::{AtomicBool, Ordering, fence};

/// Taken while a thread other than a worker runs the stages. That thread keeps values that the workers do not see; if
/// it is silent for too long, a worker ends the lead, and looks for such values.
#[derive(Debug)]
pub struct Lead {
    taken: AtomicBool,
}

impl Lead {
    /// The workers run the stages.
    #[must_use]
    pub fn new() -> Self {
        Lead { taken: AtomicBool::new(false) }
    }

    /// A thread runs the stages from now on.
    pub fn take(&self) {
        self.taken.store(true, Ordering::Relaxed);
    }

    /// Whether a thread runs the stages.
    pub fn is_taken(&self) -> bool {
        self.taken.load(Ordering::Relaxed)
    }

    /// The same, for the thread itself after it has kept a value: if it is, the worker that ends the lead sees the
    /// value.
    #[inline]
    pub fn is_still_taken(&self) -> bool {
        // Orders the value before this look; pairs with the fence in `end`.
        fence(Ordering::SeqCst);
        self.is_taken()
    }

    /// The workers run the stages again. The caller then looks for values that the thread has kept.
    pub fn end(&self) {
        self.taken.store(false, Ordering::Relaxed);
        // Orders the end before the caller's look; pairs with the fence in `is_still_taken`.
        fence(Ordering::SeqCst);
    }
}

impl Default for Lead {
    fn default() -> Self {
        Self::new()
    }
}
