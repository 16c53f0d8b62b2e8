//! The baton of a service's callers: one caller works, and the others leave it their requests.

use crate::sync::{AtomicUsize, Ordering};

/// Held by one thread at a time. A thread that finds it held leaves its work to the holder, which sees that work before
/// it can pass the baton on.
#[derive(Debug)]
pub struct Baton {
    /// How many have come since it was free; 0 while it is.
    came: AtomicUsize,
}

impl Baton {
    /// A free baton.
    #[must_use]
    pub fn new() -> Self {
        Baton { came: AtomicUsize::new(0) }
    }

    /// Takes the baton. Returns false if another thread holds it, which then does what this one has published.
    pub fn take(&self) -> bool {
        // Releases what was published to the holder, or acquires what earlier holders have done.
        self.came.fetch_add(1, Ordering::AcqRel) == 0
    }

    /// The number of threads that have come until now. The holder calls it, and then looks for work.
    pub fn held(&self) -> u32 {
        // Acquires what those have published.
        u32::try_from(self.came.load(Ordering::Acquire)).unwrap_or(u32::MAX)
    }

    /// Frees the baton, unless others have come since `held` had this result. The holder calls it.
    pub fn pass(&self, held: u32) -> bool {
        // Releases what the holder has done to the next one.
        self.came.compare_exchange(held as usize, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Frees the baton, even if work may be left. The holder calls it, and then wakes the workers.
    pub fn drop_it(&self) {
        // As above; acquires what was published by those that have come since the holder looked.
        self.came.swap(0, Ordering::AcqRel);
    }
}

impl Default for Baton {
    fn default() -> Self {
        Self::new()
    }
}
