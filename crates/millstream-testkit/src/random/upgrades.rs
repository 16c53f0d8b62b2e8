//! Random pipelines that are replaced by their like while they run.

use super::build::Built;
use super::value::Value;
use crate::check::Difference;
use crate::deployment::Deployment;
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Deploy, Item, On, SequenceNumber, Val};
use millstream_exec::{RingShape, Rings, RunError};
use std::sync::Arc;

/// A pipeline of which others have a part, too.
struct Part<P>(Arc<P>);

impl<P: Arrow> Arrow for Part<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.0.describe(input, plan)
    }
}

impl<P: Deploy<Rings>> Deploy<Rings> for Part<P> {
    fn deploy(
        &self,
        input: <P::In as On<Rings>>::Edge,
        wiring: &mut <Rings as millstream_core::Backend>::Wiring,
    ) -> <P::Out as On<Rings>>::Edge {
        self.0.deploy(input, wiring)
    }

    fn deploy_outer(
        &self,
        input: <P::In as On<Rings>>::Edge,
        wiring: &mut <Rings as millstream_core::Backend>::Wiring,
    ) -> <P::Out as On<Rings>>::Edge {
        self.0.deploy_outer(input, wiring)
    }
}

/// The options of a run that goes on with the pipeline `next` at this number.
pub(super) fn upgraded<T: Item, P>(rings: Rings, at: SequenceNumber, next: Arc<P>) -> Rings
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape> + Send + Sync,
{
    rings.upgrade_at(at, Part(next))
}

impl Built {
    /// As [`collect_slots`](Built::collect_slots), of a run whose pipeline is replaced by an equal one at this number.
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
        let rings = self.runs().clone().upgraded(deployment.rings(), SequenceNumber(at));
        self.runs().collect_with(rings, inputs, deployment)
    }

    /// Replaces the pipeline by an equal one at these numbers, and compares the output with the model.
    ///
    /// # Errors
    ///
    /// The difference.
    pub fn check_upgrades(&self, inputs: &[Value], deployment: Deployment, at: &[u64]) -> Result<(), Difference> {
        let upgraded = |rings, at: &u64| self.runs().clone().upgraded(rings, SequenceNumber(*at));
        let whole = self.run_with(at.iter().fold(deployment.rings(), upgraded), inputs, deployment)?;
        self.judge_slots(&self.model_slots(inputs.to_vec()), &whole, deployment)
    }
}
