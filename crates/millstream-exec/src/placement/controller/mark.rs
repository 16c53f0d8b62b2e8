//! What a run has moved at a moment.

use std::time::{Duration, Instant};

/// Workers share the cores with other processes if they waited for a core for this long and for this fraction of the
/// time.
const DELAYED: (Duration, u32) = (Duration::from_millis(1), 10);

/// The numbers moved up to a point in time.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) at: Instant,
    pub(super) moved: u64,
    /// The time for which the workers had waited for a core.
    pub(super) waited: Duration,
}

impl Mark {
    /// Numbers a second from this mark to a later one.
    pub(super) fn rate(self, later: Mark) -> f64 {
        (later.moved - self.moved) as f64 / later.at.duration_since(self.at).as_secs_f64()
    }

    /// Whether other processes used the cores between the marks.
    pub(super) fn delayed(self, later: Mark) -> bool {
        let (least, part) = DELAYED;
        later.waited.saturating_sub(self.waited) >= least.max(later.at.duration_since(self.at) / part)
    }
}
