//! What a job says of its snapshots while it runs.

use millstream_core::failure::{caught, discard};
use std::fmt;
use std::mem;
use std::sync::Arc;

/// What is called when snapshots begin to fail, and when they are stored again.
#[derive(Clone, Default)]
pub(super) struct OnStoring {
    says: Option<Arc<Says>>,
    /// Whether the last snapshot could not be stored.
    fails: bool,
}

type Says = dyn Fn(Result<u64, &str>) + Send + Sync;

impl fmt::Debug for OnStoring {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnStoring").field("fails", &self.fails).finish_non_exhaustive()
    }
}

impl OnStoring {
    pub(super) fn calls(says: impl Fn(Result<u64, &str>) + Send + Sync + 'static) -> Self {
        OnStoring { says: Some(Arc::new(says)), fails: false }
    }

    /// The snapshot at this number is stored.
    pub(super) fn stored(&mut self, at: u64) {
        if mem::take(&mut self.fails) {
            self.say(Ok(at));
        }
    }

    /// A snapshot could not be stored.
    pub(super) fn failed(&mut self, why: &str) {
        if !mem::replace(&mut self.fails, true) {
            self.say(Err(why));
        }
    }

    fn say(&self, outcome: Result<u64, &str>) {
        let Some(says) = &self.says else { return };
        // The next snapshot can be stored nevertheless.
        caught(|| says(outcome)).unwrap_or_else(discard);
    }
}
