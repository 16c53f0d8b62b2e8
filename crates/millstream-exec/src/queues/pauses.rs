//! The pauses of a sink on queues, which gets single values.

use crate::sink::SinkPauses;
use std::time::{Duration, Instant};

/// The clock is read once for this many values; after a look that found more time gone than [`SLOW`], at the next one.
const LOOKS: u64 = 16;
const SLOW: Duration = Duration::from_millis(1);

/// The pauses of a sink that gets single values. It reads the clock seldom while they are quick.
#[derive(Debug)]
pub(super) struct PausesBetweenValues {
    pauses: SinkPauses,
    looked: Instant,
    slow: bool,
    values: u64,
}

impl Default for PausesBetweenValues {
    fn default() -> Self {
        PausesBetweenValues { pauses: SinkPauses::default(), looked: Instant::now(), slow: true, values: 0 }
    }
}

impl PausesBetweenValues {
    /// Lets the sink pause after a value, if it is time or no further value is there.
    pub(super) fn after_value(&mut self, is_last_here: bool, pause: impl FnOnce()) {
        self.values += 1;
        let late = (self.slow || self.values.is_multiple_of(LOOKS)) && self.are_due();
        if late || is_last_here {
            pause();
        }
        if late {
            let began = std::mem::replace(&mut self.looked, Instant::now());
            self.pauses.note(began, self.looked);
        }
    }

    fn are_due(&mut self) -> bool {
        let now = Instant::now();
        self.slow = now.duration_since(self.looked) > SLOW;
        self.looked = now;
        self.pauses.are_due(now)
    }
}
