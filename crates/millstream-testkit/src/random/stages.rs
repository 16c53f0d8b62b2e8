//! The stages of a deployment are those of the plan.

use super::build::Built;
use crate::deployment::{Deployment, Feeding};
use crate::way::{QueueFeeding, Way};
use millstream_exec::{Queues, RunError};
use std::collections::BTreeMap;

impl Built {
    /// Deploys it on rings and on queues, and compares the stages with the plan's: each stage of the plan has its own,
    /// and there are no others.
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    ///
    /// # Panics
    ///
    /// If the stages differ.
    pub fn check_stages(&self, deployment: Deployment) -> Result<(), RunError> {
        let plan = self.plan();
        let rings = Way::Rings(Deployment { feeding: Feeding::Inline, ..deployment });
        let queues = Way::Queues { queues: Queues::new(), feeding: QueueFeeding::Ready };
        for (way, helpers) in [(rings, &[][..]), (queues, QUEUE_HELPERS)] {
            let ended = self.runs().refused(Vec::new(), way, u64::MAX)?;
            let mut deployed: BTreeMap<&str, usize> = BTreeMap::new();
            for stage in &ended.report.stages {
                *deployed.entry(&*stage.name).or_default() += 1;
            }
            for stage in &plan.stages {
                let tasklets = deployed.remove(&*stage.name).unwrap_or(0);
                let right = if helpers.is_empty() { tasklets == stage.tasklets } else { tasklets >= stage.tasklets };
                assert!(right, "{way:?}: {tasklets} of {:?}, in\n{plan}", stage.name);
            }
            let sink = |name: &str| name.ends_with(".dead-letters") || name.starts_with("kept-");
            let others = |name: &&str| !["source", "sink"].contains(name) && !sink(name);
            let other = deployed.into_keys().filter(others).find(|name| !helpers.contains(name));
            assert_eq!(other, None, "{way:?}: it is not in\n{plan}");
        }
        Ok(())
    }
}

/// The names of the threads that queues add to a plan's stages.
pub const QUEUE_HELPERS: &[&str] = &[
    "copier",
    "zipper",
    "merger",
    "splitter",
    "router",
    "collector",
    "dealer",
    "gatherer",
    "lens",
    "part",
    "maybe",
    "drain",
];
