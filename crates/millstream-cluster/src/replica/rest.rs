//! Pauses of a replica whose output edge is full, or does not answer.

use std::time::{Duration, Instant};

/// The longest pause.
const LONGEST: Duration = Duration::from_millis(500);

/// The pause before the next append: each sends a whole batch.
#[derive(Clone, Copy)]
pub(super) struct Rest {
    since: Instant,
    lasts: Duration,
}

impl Rest {
    /// A pause of this time, or twice as long as the one before.
    pub(super) fn after(before: Option<Rest>, pace: Duration) -> Self {
        let lasts = before.map_or(pace, |before| (before.lasts * 2).min(LONGEST.max(pace)));
        Rest { since: Instant::now(), lasts }
    }

    pub(super) fn goes_on(self) -> bool {
        self.since.elapsed() < self.lasts
    }
}
