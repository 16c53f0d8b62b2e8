//! When sinks pause although values keep coming.

use std::time::{Duration, Instant};

/// The time between two pauses.
const SPACING: Duration = Duration::from_millis(20);

/// A sink may commit or send what it has gathered when it pauses. So the time between two pauses is at least this many
/// times as long as the first one of them took.
const SHARE: u32 = 9;

/// When the sinks of a thread pause next.
///
/// A sink pauses by itself where it finds nothing to read. If a stage before it takes long, and all of them have one
/// worker, each round may bring it one value.
#[derive(Debug, Default)]
pub(crate) struct SinkPauses {
    due: Option<Instant>,
}

impl SinkPauses {
    /// Whether it is time. The caller then lets the sinks pause, and [notes](SinkPauses::note) it.
    pub(crate) fn are_due(&mut self, now: Instant) -> bool {
        now >= *self.due.get_or_insert_with(|| now + SPACING)
    }

    /// Notes pauses that took from one of these times to the other.
    pub(crate) fn note(&mut self, began: Instant, ended: Instant) {
        self.due = Some(ended + SPACING.max(ended.duration_since(began) * SHARE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_take_at_most_a_tenth_of_the_time() {
        let (mut pauses, start) = (SinkPauses::default(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        assert!([0, 19].iter().all(|ms| !pauses.are_due(at(*ms))) && pauses.are_due(at(20)));
        pauses.note(at(20), at(21));
        assert!(!pauses.are_due(at(40)) && pauses.are_due(at(41)));
        pauses.note(at(100), at(150));
        assert!(!pauses.are_due(at(599)) && pauses.are_due(at(600)));
    }
}
