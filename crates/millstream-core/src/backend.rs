use crate::fusion::{Fusing, OfPassage, SlotKernel};
use crate::{Arrow, Density, Item, Shape};
use std::any::Any;

/// A way to run pipelines. A deployment is a type; [`Backend::Wiring`] is its state while a pipeline is deployed.
pub trait Backend: 'static {
    /// The collector to which stages are added during deployment.
    type Wiring;
    /// How the state of a stage is kept.
    #[doc(hidden)]
    type Keeper<S>;
    /// The reading end of a ring.
    #[doc(hidden)]
    type Ring<T: Item, D: Density>;

    /// Whether the stages that are deployed now are [fused](crate::fusion) where they can be.
    #[doc(hidden)]
    fn fuses(_: &Self::Wiring) -> bool {
        false
    }

    /// Goes on to the pipeline that runs after the one deployed last, in the same body.
    #[doc(hidden)]
    fn advance(_: &mut Self::Wiring) {}
}

/// A shape that the deployment `K` can carry.
pub trait On<K: Backend>: Shape {
    /// The reading end of an edge.
    type Edge;
}

/// A pipeline that the deployment `K` can run.
///
/// Deploying takes the edge that the pipeline reads and returns the edge it writes, so one value can be deployed any
/// number of times and nothing starts before the whole is wired.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not known to run on `{K}`",
    label = "this pipeline is not known to run on `{K}`",
    note = "a function says that `Queues` run its pipeline by `+ Everywhere`, and that `Durable` rings do by `+ Lasting`"
)]
pub trait Deploy<K: Backend>: Arrow<In: On<K>, Out: On<K>> {
    /// Adds this pipeline's stages to `wiring`, in pipeline order.
    fn deploy(&self, input: <Self::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge;

    /// As [`deploy`](Deploy::deploy), at the outer level: the input is the source's stream or the rest of it, and not
    /// the input of a body. Only there can a stage end the stream before its source does
    /// ([`take`](crate::StreamsExt::take)).
    ///
    /// The code that starts a pipeline calls this; `then`, `named` and boxes pass it on. A combinator deploys its
    /// bodies by `deploy`, which is also the default here. A combinator therefore cannot deploy a body at the outer
    /// level by omission.
    fn deploy_outer(&self, input: <Self::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge {
        self.deploy(input, wiring)
    }

    /// As [`deploy_apart`](Deploy::deploy_apart), with [fused](crate::fusion) stages where the deployment fuses.
    #[doc(hidden)]
    fn deploy_at(
        &self,
        input: <Self::In as On<K>>::Edge,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> <Self::Out as On<K>>::Edge {
        if K::fuses(wiring) { self.deploy_fused(input, level, wiring) } else { self.deploy_apart(input, level, wiring) }
    }

    /// [`deploy`](Deploy::deploy) or [`deploy_outer`](Deploy::deploy_outer), by the level.
    #[doc(hidden)]
    fn deploy_apart(
        &self,
        input: <Self::In as On<K>>::Edge,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> <Self::Out as On<K>>::Edge {
        match level {
            Level::Outer => self.deploy_outer(input, wiring),
            Level::Body => self.deploy(input, wiring),
        }
    }

    /// As [`deploy_at`](Deploy::deploy_at), for a body.
    #[doc(hidden)]
    fn deploy_body(&self, input: <Self::In as On<K>>::Edge, wiring: &mut K::Wiring) -> <Self::Out as On<K>>::Edge {
        self.deploy_at(input, Level::Body, wiring)
    }

    /// As [`deploy_apart`](Deploy::deploy_apart), with [fused](crate::fusion) stages.
    #[doc(hidden)]
    fn deploy_fused(
        &self,
        input: <Self::In as On<K>>::Edge,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> <Self::Out as On<K>>::Edge {
        self.deploy_apart(input, level, wiring)
    }

    /// What `then` makes of what this pipeline does with a slot that [passes its rings](crate::fusion::Passage). None
    /// if a stage cannot do without its ring.
    #[doc(hidden)]
    fn passage<V: OfPassage<K, Self::In, Self::Out>>(&self, _: &mut K::Wiring, _then: V) -> Option<V::Made> {
        None
    }

    /// `before`, and then this pipeline, whose first stage may be fused with the last ones of `before`.
    #[doc(hidden)]
    fn fused_after<P: Deploy<K> + Arrow<Out = Self::In>>(
        &self,
        before: &P,
        input: <P::In as On<K>>::Edge,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> <Self::Out as On<K>>::Edge {
        let between = before.deploy_fused(input, level, wiring);
        K::advance(wiring);
        self.deploy_fused(between, level, wiring)
    }

    /// This pipeline, and then `next`, which may be fused with its last stages.
    #[doc(hidden)]
    fn fused_before<N: SlotKernel<K, Self::Out>>(
        &self,
        input: <Self::In as On<K>>::Edge,
        next: N,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> Fusing<K, Self::Out, N> {
        Fusing::Apart(self.deploy_fused(input, level, wiring), next)
    }

    /// `before`, then this pipeline, then `next`, which may all be fused.
    #[doc(hidden)]
    fn fused_between<P: Deploy<K> + Arrow<Out = Self::In>, N: SlotKernel<K, Self::Out>>(
        &self,
        before: &P,
        input: <P::In as On<K>>::Edge,
        next: N,
        level: Level,
        wiring: &mut K::Wiring,
    ) -> Fusing<K, Self::Out, N> {
        Fusing::Apart(self.fused_after(before, input, level, wiring), next)
    }

    /// Whether this is `id`: it adds nothing, and its output is its input.
    #[doc(hidden)]
    fn is_id(&self) -> bool {
        false
    }

    /// Whether this pipeline, as a lane of a choice, can be deployed by [`deploy_lane`](Deploy::deploy_lane).
    #[doc(hidden)]
    fn is_lane(&self, _: &K::Wiring) -> bool {
        false
    }

    /// Adds a lane whose output edge is shared with the other lane. `other` is `None` for the first lane, whose result
    /// is a token; the second lane takes that token and returns the shared output edge. The deployment defines the
    /// contents of the boxes.
    #[doc(hidden)]
    fn deploy_lane(
        &self,
        _: <Self::In as On<K>>::Edge,
        _other: Option<Box<dyn Any>>,
        _: &mut K::Wiring,
    ) -> Box<dyn Any> {
        unreachable!("only called if `is_lane` returned true")
    }
}

/// Where a pipeline is deployed.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Where the run is started.
    Outer,
    /// In another combinator.
    Body,
}
