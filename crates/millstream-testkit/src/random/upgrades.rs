//! Random pipelines that equal ones replace while they run.

use super::build::Built;
use super::value::Value;
use crate::check::Difference;
use crate::deployment::Deployment;
use crate::way::Way;
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Backend, Deploy, Determinate, Item, Level, On, SequenceNumber, Val};
use millstream_exec::{RingBackend, RingShape, Rings, RunError};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A shared pipeline that counts how many times it was deployed.
pub(super) struct Part<P> {
    pipeline: Arc<P>,
    deployed: Arc<AtomicUsize>,
}

impl<P> Part<P> {
    pub(super) fn counted(pipeline: Arc<P>, deployed: Arc<AtomicUsize>) -> Self {
        Part { pipeline, deployed }
    }
}

impl<P: Arrow> Arrow for Part<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.pipeline.describe(input, plan)
    }
}

impl<P: Determinate> Determinate for Part<P> {}

impl<K: Backend, P: Deploy<K>> Deploy<K> for Part<P> {
    fn deploy(&self, input: <P::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        self.pipeline.deploy_at(input, Level::Body, wiring)
    }

    fn deploy_outer(&self, input: <P::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        self.deployed.fetch_add(1, Ordering::Relaxed);
        self.pipeline.deploy_at(input, Level::Outer, wiring)
    }
}

/// The options of a run that goes on with the pipeline at this number. Counts how often that happened.
pub(super) fn upgraded<T: Item, P>(
    rings: Rings,
    at: SequenceNumber,
    pipeline: Arc<P>,
    deployed: &Arc<AtomicUsize>,
) -> Rings
where
    P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape> + Send + Sync,
{
    rings.upgrade_at(at, Part { pipeline, deployed: deployed.clone() })
}

impl Built {
    /// As [`collect_slots`](Built::collect_slots), for a run in which an equal pipeline replaces this one at this
    /// number.
    ///
    /// # Errors
    ///
    /// As the run.
    pub fn collect_upgraded(
        &self,
        inputs: Vec<Value>,
        deployment: Deployment,
        at: u64,
    ) -> Result<Vec<Option<Value>>, RunError> {
        let rings = self.runs().clone().upgraded(deployment.rings(), SequenceNumber(at), &Arc::default());
        self.runs().collect_with(rings, inputs, deployment)
    }

    /// Replaces the pipeline by an equal one at these numbers, and compares the output with the model, as
    /// [`check`](Built::check) does. Returns how many of the replacements before END did not take place.
    ///
    /// # Errors
    ///
    /// The difference.
    pub fn check_upgrades(&self, inputs: &[Value], deployment: Deployment, at: &[u64]) -> Result<usize, Difference> {
        let deployed = Arc::default();
        let upgraded = |rings, at: &u64| self.runs().clone().upgraded(rings, SequenceNumber(*at), &deployed);
        let rings = at.iter().fold(deployment.rings(), upgraded);
        let ran = self.watched(|| self.run_with(rings, inputs, deployment))?;
        self.judge_run(Way::Rings(deployment), inputs.to_vec(), &ran)?;
        let due = at.iter().filter(|at| **at <= inputs.len() as u64).count();
        Ok(due - deployed.load(Ordering::Relaxed))
    }
}
