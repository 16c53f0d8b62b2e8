//! What there is to cut over to.

use crate::side_sinks::SideSinks;
use crate::task::Task;
use crate::watched::Role;
use millstream_core::Plan;
use millstream_core::plan::UpgradeCheck;
use std::sync::{Arc, Mutex};

/// Where a shadow that has begun leaves it.
pub(super) type Place = Arc<Mutex<Option<Beside>>>;

/// A shadow's tasklets and what belongs to them.
pub(crate) struct Beside {
    /// With their roles in its own plan.
    pub(super) tasks: Vec<(Arc<Task>, Role)>,
    pub(super) plan: Arc<Plan>,
    pub(super) ring_bytes: usize,
    pub(super) side_sinks: SideSinks,
    pub(super) check: UpgradeCheck,
    pub(super) states: usize,
}
