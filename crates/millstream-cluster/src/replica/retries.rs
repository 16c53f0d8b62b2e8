//! The calls of the log that a replica makes again and again, since none of them has done anything yet.

use crate::LogError;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// A call that has not failed for this long is not made any more.
const OVER: Duration = Duration::from_secs(15);

/// The kinds of calls; each is made again on its own, while the others may do something.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    Begins,
    Reads,
    Looks,
    Appends,
    Stores,
    Trims,
    Drops,
}

impl Call {
    fn shown(self) -> &'static str {
        match self {
            Call::Begins => "the newest snapshot is not read",
            Call::Reads => "the input is not read",
            Call::Looks => "the output is not read",
            Call::Appends => "the output is not appended",
            Call::Stores => "a snapshot is not stored",
            Call::Trims => "the input before a snapshot is not dropped",
            Call::Drops => "an old snapshot is not dropped",
        }
    }
}

/// A call that failed.
struct Failed {
    since: Instant,
    last: Instant,
    why: String,
}

#[derive(Default)]
pub(super) struct Retries(RefCell<BTreeMap<Call, Failed>>);

impl Retries {
    /// Notes that a call has done something.
    pub(super) fn end(&self, call: Call) {
        self.0.borrow_mut().remove(&call);
    }

    pub(super) fn failed(&self, call: Call, error: LogError) {
        let why = match error {
            LogError::Unavailable(why) => why,
            other => other.to_string(),
        };
        let (mut failed, last) = (self.0.borrow_mut(), Instant::now());
        // A snapshot on its way says each time how much of it is there: as long as that changes, it goes on.
        let goes_on = |before: &Failed| matches!(call, Call::Begins | Call::Stores) && before.why != why;
        let since = failed.get(&call).filter(|before| !goes_on(before)).map_or(last, |before| before.since);
        failed.insert(call, Failed { since, last, why });
    }

    /// The call that has failed for longest, if that is as long as this.
    pub(super) fn longest(&self, least: Duration) -> Option<String> {
        let failed = self.0.borrow();
        let made = failed.iter().filter(|(_, failed)| failed.last.elapsed() < OVER && failed.since.elapsed() >= least);
        let (call, failed) = made.min_by_key(|(_, failed)| failed.since)?;
        Some(format!("{}: {}", call.shown(), failed.why))
    }
}
