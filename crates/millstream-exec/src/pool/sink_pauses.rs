//! When the sinks of a group pause although values keep coming.

use crate::sink::PAUSES;
use std::time::Instant;

/// When the sinks of a group have paused.
///
/// A sink pauses by itself where it finds nothing to read. If a stage before it takes long, and all of them have one
/// worker, each round may bring it one value.
#[derive(Debug, Default)]
pub(crate) struct SinkPauses(Option<Instant>);

impl SinkPauses {
    /// Whether it is time. If so, the next time is [`PAUSES`] later.
    pub(super) fn are_due(&mut self, now: Instant) -> bool {
        let last = *self.0.get_or_insert(now);
        let due = now.duration_since(last) >= PAUSES;
        if due {
            self.0 = Some(now);
        }
        due
    }
}
