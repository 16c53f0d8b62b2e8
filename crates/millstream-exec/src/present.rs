//! The version of a run's pipeline that goes on.

use crate::ChangeReport;
use crate::observer::Observer;
use crate::side_sinks::SideSinks;
use crate::upgrade::shadow_state::ShadowState;
use std::sync::Arc;

/// What belongs to the present version of a run's pipeline.
pub(crate) struct Present {
    pub(crate) observer: Observer,
    /// Those of earlier versions among them.
    pub(crate) side_sinks: SideSinks,
    pub(crate) ring_bytes: usize,
    /// The changes so far.
    pub(crate) changes: Vec<ChangeReport>,
    /// The version that runs beside this one.
    pub(crate) shadow: Option<Arc<ShadowState>>,
}
