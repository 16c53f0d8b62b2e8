//! Whether an application is still there, for a command that waits for it.

use crate::message::Complaints;
use crate::outcome::Outcome;
use millstream_cluster::{JetStream, LogError};
use std::time::{Duration, Instant};

/// The time between two looks for the application.
const LOOKS: Duration = Duration::from_millis(500);
/// If this many of them in a row do not find it, it was removed: a server that lags behind may not have it.
const REMOVED: u32 = 10;

/// What the looks for an application have found.
pub(super) struct Presence {
    looked: Instant,
    /// How many looks in a row have not found it.
    missed: u32,
}

impl Presence {
    pub(super) fn new() -> Self {
        Presence { looked: Instant::now(), missed: 0 }
    }

    /// Whether it is time for a look.
    pub(super) fn is_due(&self) -> bool {
        self.looked.elapsed() >= LOOKS
    }

    /// Looks for the application of this log. An error if the servers do not answer.
    pub(super) fn look(&mut self, log: &JetStream) -> Result<(), LogError> {
        self.looked = Instant::now();
        self.missed = if log.is_gone()? { self.missed + 1 } else { 0 };
        Ok(())
    }

    /// Whether the last look has not found it.
    pub(super) fn is_missed(&self) -> bool {
        self.missed > 0
    }

    /// Whether it was removed.
    pub(super) fn is_removed(&self) -> bool {
        self.missed >= REMOVED
    }
}

/// Says that the application was removed while a command of this name ran for it.
pub(super) fn removed(app: &str, command: &str, complaints: &Complaints) -> Outcome {
    complaints.complain(&format!(
        "{app}: the application was removed while this {command} ran for it: one that has its name now is another one"
    ));
    Outcome::WrongUse
}
