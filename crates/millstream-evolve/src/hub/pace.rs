//! The master does not sleep while events follow each other closely: more often than every 0.1 ms on average.
//!
//! A message takes some 10 us. Waking a thread that waits for it takes several times as long, and costs the sender too.
//! So the master writes what an event has caused before it looks at the next one, and first reads the workers that were
//! asked for states, since another worker waits for those.

use std::time::Duration;

/// How long the master looks for events before it sleeps, if they come more often than that.
const AWAKE: Duration = Duration::from_micros(100);

/// A longer time without events counts as this one.
const PAUSE: Duration = Duration::from_millis(1);

/// How closely events follow each other.
#[derive(Debug)]
pub(super) struct Pace {
    last: Duration,
    /// The time between two events: a mean in which later events count more.
    between: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { last: Duration::ZERO, between: PAUSE }
    }
}

impl Pace {
    /// Notes that an event has occurred.
    pub(super) fn event(&mut self, now: Duration) {
        let since = now.saturating_sub(self.last).min(PAUSE);
        self.between = (self.between * 7 + since) / 8;
        self.last = now;
    }

    /// How long to look for the next event before sleeping.
    pub(super) fn awake(&self) -> Duration {
        if self.between < AWAKE { AWAKE } else { Duration::ZERO }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_stays_awake_while_events_are_frequent() {
        let (mut pace, mut now) = (Pace::default(), Duration::from_secs(1));
        let mut every = |between, times| {
            for _ in 0..times {
                now += Duration::from_micros(between);
                pace.event(now);
            }
            pace.awake()
        };
        assert_eq!(every(20, 5), Duration::ZERO);
        assert_eq!(every(20, 50), AWAKE);
        assert_eq!(every(500, 5), Duration::ZERO);
        assert_eq!(every(20, 50), AWAKE);
        // After one pause it sleeps until events are frequent again.
        assert_eq!(every(10_000_000, 1), Duration::ZERO);
    }
}
