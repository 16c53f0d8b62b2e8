//! What is looked at before a run begins.

use crate::message::{Complaints, cause, quoted};
use crate::progress;
use millstream_core::{Item, Plan};
use millstream_exec::{Feed, Rings, Source, Wait};
use std::fs::OpenOptions;
use std::path::Path;

/// How a run is fed by this source.
pub(super) fn feed_of<T: Item, X: Source<T>>(_: &X) -> Feed {
    Feed::source::<T, X>()
}

/// Says so if threads will not wait as they were asked to, and why.
pub(super) fn say_other_wait(complaints: &Complaints, rings: &Rings, asked: Wait, plan: &Plan, feed: Feed) {
    let waiting = rings.explain(plan, feed).wait;
    if waiting.strategy != asked {
        complaints.note(&format!("--wait: {}", waiting.why));
    }
}

/// How much the model may keep in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    /// What a number takes in all lists, without what its values own.
    a_number: u64,
    bytes: u64,
}

impl Most {
    /// What the model may keep in its lists, of which it has one for every ring of this plan.
    pub(super) fn of(plan: &Plan, rings: &Rings) -> Self {
        let a_number = plan.rings.iter().map(|ring| ring.slot_bytes as u64).sum();
        let limit = rings.explain(plan, Feed::source::<u64, Vec<u64>>()).rings.limit;
        Most { a_number, bytes: limit.map_or(u64::MAX, |limit| limit.bytes) }
    }

    /// # Panics
    ///
    /// If this many numbers, with all bytes that were read for them, are too much. That is how a model fails.
    pub(super) fn check(self, numbers: usize) {
        let bytes = (numbers as u64).saturating_mul(self.a_number).saturating_add(progress::bytes());
        let most = self.bytes;
        assert!(bytes <= most, "it keeps all values in memory, and they are more than {most} bytes (--memory-limit)");
    }
}

/// Whether a file can be written; if not, says why. One that is there keeps what it has.
pub(super) fn can_write(path: &Path, complaints: &Complaints) -> bool {
    // The reader of a pipe waits for what is written, and not for a try.
    if path.metadata().is_ok_and(|file| !file.is_file()) {
        return true;
    }
    let tried = OpenOptions::new().append(true).create(true).open(path);
    tried.inspect_err(|error| complaints.complain(&format!("{}: {}", quoted(path.as_os_str()), cause(error)))).is_ok()
}
