//! A run that fails or is stopped can drop its values when its last thread leaves, before the program waits for it.
//!
//! Another thread may wait for a value: the drop of a request tells its caller that no answer comes. The program may
//! keep the handle of the run for as long as it likes.

use super::Pool;
use crate::external_source::{Accepted, ExternalSource};
use crate::report::StageReport;
use millstream_core::failure::{caught, discard};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, OnceLock, PoisonError, Weak};

#[derive(Default)]
pub(super) struct Release {
    /// Set if the run releases its values. Weak: the pool keeps no value of the source alive.
    source: OnceLock<Option<Weak<dyn ExternalSource>>>,
    /// Drops what the program keeps for the run elsewhere.
    elsewhere: Mutex<Option<Releases>>,
    remains: Mutex<Option<Remains>>,
}

/// Called once, on any thread.
pub(crate) type Releases = Box<dyn FnOnce() + Send>;

/// The figures in a run's report about values that were dropped before the report.
pub(crate) struct Remains {
    pub(crate) stages: Vec<StageReport>,
    pub(crate) accepted: Option<Accepted>,
}

impl Pool {
    /// Drops the values of the run and of its source as soon as it has failed or was stopped, and its threads have
    /// left. Calls `elsewhere` then.
    pub(crate) fn release_at_end(&self, source: Option<Weak<dyn ExternalSource>>, elsewhere: Option<Releases>) {
        *self.release.elsewhere.lock().unwrap_or_else(PoisonError::into_inner) = elsewhere;
        // A run has one source.
        let _ = self.release.source.set(source);
        self.release_if_over();
    }

    /// The last thread that leaves, the last visitor and the thread that asks for the release call this. The latest of
    /// them sees what the others have stored. If several see it, all but the first find nothing to drop.
    pub(super) fn release_if_over(&self) {
        let Some(source) = self.release.source.get() else { return };
        if !self.shared.stopped() || self.alive.load(Ordering::SeqCst) > 0 || self.visitors.load(Ordering::SeqCst) > 0 {
            return;
        }
        let source = source.as_ref().and_then(Weak::upgrade);
        let stages = self.clear();
        let accepted = source.as_ref().and_then(|source| source.accepted());
        if let Some(source) = source {
            source.clear();
        }
        let elsewhere = self.release.elsewhere.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(elsewhere) = elsewhere
            && let Err(payload) = caught(elsewhere)
        {
            discard(payload);
        }
        let mut remains = self.release.remains.lock().unwrap_or_else(PoisonError::into_inner);
        remains.get_or_insert(Remains { stages, accepted });
    }

    /// The figures about the released values.
    pub(crate) fn remains(&self) -> Option<Remains> {
        self.release.remains.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
