//! Pipelines that give their order up, and the comparison of their outputs.

use super::value::Value;
use crate::deployment::Slots;
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Backend, Deploy, Determinate, Level, On};

/// A pipeline that is determinate except for the order of its output, and is marked as determinate all the same. Its
/// outputs are compared without their order ([`in_one_order`]).
pub(crate) struct AnyOrder<P>(pub(crate) P);

impl<P> Determinate for AnyOrder<P> {}

impl<P: Arrow> Arrow for AnyOrder<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.0.describe(input, plan)
    }
}

impl<K: Backend, P: Deploy<K>> Deploy<K> for AnyOrder<P> {
    fn deploy(&self, input: <P::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        self.0.deploy_at(input, Level::Body, wiring)
    }

    fn deploy_outer(&self, input: <P::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        self.0.deploy_at(input, Level::Outer, wiring)
    }
}

/// The same slots, with those below END sorted. Two outputs are then equal if they hold the same values the same number
/// of times.
pub(crate) fn in_one_order(mut slots: Slots<Value>) -> Slots<Value> {
    if let Some((_, below)) = slots.split_last_mut() {
        below.sort_unstable();
    }
    slots
}
