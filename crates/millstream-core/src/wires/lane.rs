//! The block of a lane: each of its statements fills a slot only where its input is filled.

use super::{
    Bind, BlockBody, BlockBuilder, DeployStatements, Edges, Grouped, Scope, Start, Statements, Wire, as_parts,
};
use crate::pipe::debug;
use crate::plan::{Describe, Port};
use crate::{Arrow, Deploy, KeepsClock, On, Quiet};
use std::borrow::Cow;

/// The block of a lane that is being written: as a [`BlockBuilder`], of [quiet](Quiet) pipelines.
#[must_use = "a block that is not ended by `lane` is not a lane"]
pub struct LaneBuilder<Z, D = Start, G = Start>(BlockBuilder<(), Z, D, G>);
debug!(LaneBuilder<Z, D, G>);

impl<Z: 'static> LaneBuilder<Z> {
    pub(super) fn new() -> Self {
        LaneBuilder(BlockBuilder::<(), Z, Start>::empty())
    }
}

/// A block of a lane with one statement more, and the wire that it binds.
pub type LaneWithWire<Z, D, G, P> = (LaneBuilder<Z, D, Bind<G, P>>, Wire<Z, <P as Arrow>::Out>);

impl<Z: 'static, D, G> LaneBuilder<Z, D, G> {
    /// As [`BlockBuilder::wire`], for a pipeline that fills a slot only where its input is filled.
    pub fn wire<P: Arrow<In = Scope<Z>> + Quiet>(
        self,
        name: impl Into<Cow<'static, str>>,
        pipeline: P,
    ) -> LaneWithWire<Z, D, G, P> {
        let (block, wire) = self.0.wire(name, pipeline);
        (LaneBuilder(block), wire)
    }

    /// As [`BlockBuilder::grouped`].
    pub fn grouped(self) -> LaneBuilder<Z, Grouped<D, G>> {
        LaneBuilder(self.0.grouped())
    }

    /// Ends the block of a lane.
    pub fn lane<P: Arrow<In = Scope<Z>> + Quiet>(self, result: P) -> LaneBody<Grouped<D, G>, P> {
        LaneBody(self.0.body(result))
    }
}

/// The statements of a lane and its result, as a pipeline that reads the lane's scope.
pub struct LaneBody<L, P>(BlockBody<L, P>);
debug!(LaneBody<L, P>);
as_parts!(LaneBody<L, P>: L P; Shardable Determinate);
// `LaneBuilder` has asked each of its statements: the compiler reports what is not quiet there, and once.
#[diagnostic::do_not_recommend]
impl<L, P> KeepsClock for LaneBody<L, P> {}
#[diagnostic::do_not_recommend]
impl<L, P> Quiet for LaneBody<L, P> {}

impl<Z: 'static, L: Statements, P: Arrow<In = Scope<Z>>> Arrow for LaneBody<L, P> {
    type In = Scope<Z>;
    type Out = P::Out;

    fn describe(&self, scope: Port, plan: &mut Describe) -> Port {
        self.0.describe(scope, plan)
    }
}

#[diagnostic::do_not_recommend]
impl<K, Z: 'static, L: DeployStatements<K>, P: Deploy<K> + Arrow<In = Scope<Z>>> Deploy<K> for LaneBody<L, P>
where
    K: super::BlockBackend,
    Scope<Z>: On<K, Edge = Edges<K>>,
{
    fn deploy(&self, scope: Edges<K>, wiring: &mut K::Wiring) -> <P::Out as On<K>>::Edge {
        self.0.deploy(scope, wiring)
    }
}
