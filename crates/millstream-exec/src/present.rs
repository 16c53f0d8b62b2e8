//! The present version of a run's pipeline.

use crate::observer::Observer;
use crate::side_sinks::SideSinks;
use crate::upgrade::shadow_state::ShadowState;
use crate::{ChangeReport, RefusedChange};
use std::collections::VecDeque;
use std::sync::Arc;

/// How many changes are kept, and how many refused ones: a program may go on for ever.
const KEPT: usize = 64;

/// The parts of a run that belong to the present version of its pipeline.
pub(crate) struct Present {
    pub(crate) observer: Observer,
    /// The sinks with names, and those of earlier versions that go on in this one.
    pub(crate) side_sinks: SideSinks,
    pub(crate) ring_bytes: usize,
    /// The last changes.
    pub(crate) changes: VecDeque<ChangeReport>,
    /// The last changes that were refused.
    pub(crate) refused: VecDeque<RefusedChange>,
    /// The version that runs beside this one.
    pub(crate) shadow: Option<Arc<ShadowState>>,
}

impl Present {
    /// The first version.
    pub(crate) fn first(observer: Observer, side_sinks: SideSinks, ring_bytes: usize) -> Self {
        let (changes, refused) = (VecDeque::new(), VecDeque::new());
        Present { observer, side_sinks, ring_bytes, changes, refused, shadow: None }
    }

    pub(crate) fn change(&mut self, change: ChangeReport) {
        keep(&mut self.changes, change);
    }

    pub(crate) fn refuse(&mut self, refused: RefusedChange) {
        keep(&mut self.refused, refused);
    }
}

/// Keeps it as the last one.
fn keep<T>(kept: &mut VecDeque<T>, last: T) {
    if kept.len() == KEPT {
        kept.pop_front();
    }
    kept.push_back(last);
}
