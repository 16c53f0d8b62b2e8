//! Checks before a run begins.

use crate::message::{Complaints, cause, quoted};
use crate::outcome::before_exit;
use crate::output::can_be_written;
use crate::progress;
use millstream_core::Plan;
use millstream_exec::{Feed, Rings, Wait};
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Notes if threads will not wait as the flags ask, and why.
pub(super) fn say_other_wait(complaints: &Complaints, rings: &Rings, asked: Wait, plan: &Plan, feed: Feed) {
    let waiting = rings.explain(plan, feed).wait;
    if waiting.strategy != asked {
        complaints.note(&format!("--wait: {}", waiting.why));
    }
}

/// The memory limit of the model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// The bytes of a number in all lists, without the memory that its values own.
    a_number: u64,
    bytes: u64,
}

impl Most {
    /// The limit for the model's lists, one list for every ring of this plan.
    pub(super) fn of(plan: &Plan, rings: &Rings) -> Self {
        let a_number = plan.rings.iter().map(|ring| ring.slot_bytes as u64).sum();
        let limit = rings.explain(plan, Feed::source::<u64, Vec<u64>>()).rings.limit;
        Most { a_number, bytes: limit.map_or(u64::MAX, |limit| limit.bytes) }
    }

    /// # Panics
    ///
    /// If this many numbers, with all bytes read for them, exceed the limit. That is how a model fails.
    pub(super) fn check(self, numbers: usize) {
        let bytes = (numbers as u64).saturating_mul(self.a_number).saturating_add(progress::bytes());
        let most = self.bytes;
        assert!(
            bytes <= most,
            "the model keeps all values in memory, and they take more than {most} bytes (--memory-limit)"
        );
    }
}

/// Whether a file can be written; if not, prints why. The file is unchanged afterwards.
pub(super) fn can_write(path: &Path, complaints: &Complaints) -> bool {
    let complain = |error: &_| complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(error)));
    can_be_written(path).inspect_err(complain).is_ok()
}

/// If the process exits before `reported` is set, removes the file of the report: one of an earlier run must not pass
/// for this run's.
pub(crate) fn leave_no_other_report(path: &Path, reported: &Arc<AtomicBool>) {
    let (path, reported) = (path.to_owned(), reported.clone());
    before_exit(move || {
        if path.is_file() && !reported.load(Ordering::Relaxed) {
            let _ = fs::remove_file(&path);
        }
    });
}
