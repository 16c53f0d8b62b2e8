//! Whether a run follows the process from which it takes over.

#[cfg(feature = "serve")]
use super::sources::Files;
#[cfg(feature = "serve")]
use crate::config::Keep;
use crate::deploy::Failed;
#[cfg(feature = "serve")]
use millstream_state::StateDir;

/// How often the new process begins to follow again, because the old one has removed what it was reading.
const MOST_LEFT_BEHIND: u32 = 5;

/// Whether a run follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Follow {
    /// It does, after this number of attempts.
    From(u32),
    No,
}

impl Follow {
    /// Whether a run that has failed so is started again.
    pub(super) fn again(&mut self, failed: &Failed) -> bool {
        *self = match (failed, *self) {
            (Failed::LeftBehind(_), Follow::From(attempts)) if attempts < MOST_LEFT_BEHIND => {
                Follow::From(attempts + 1)
            }
            (Failed::Restores, Follow::From(_)) => Follow::No,
            _ => return false,
        };
        true
    }

    /// Whether the run can follow at the newest snapshot: the files before the source that listens have been read then,
    /// and do not grow under two processes.
    #[cfg(feature = "serve")]
    pub(super) fn is_at(self, keep: &Keep, files: &Files) -> bool {
        let newest = || StateDir::read(&keep.dir).and_then(|dir| dir.newest()).ok().flatten();
        let at = |source: &serde_json::Value| source["position"]["file"].as_u64();
        self != Follow::No
            && keep.take_over
            && newest().and_then(|newest| at(&newest.source)).is_some_and(|file| files.listens(file as usize))
    }
}
