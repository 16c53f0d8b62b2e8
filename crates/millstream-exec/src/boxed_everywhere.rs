use crate::boxed::{AnyPipe, Erased, Fits, PurePipe, QuietPipe};
use crate::{Everywhere, Queue, QueueShape, Queues, QueuesWiring, RingShape, Rings, Wiring};
use millstream_core::model::{Extent, Model, ModelShape};
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Deploy, Determinate, KeepsClock, On, Quiet, Shardable, ToOwnedItem};
use millstream_ring::Reader;
use std::marker::PhantomData;
use std::sync::Arc;

/// A [`BoxPipeline`](crate::BoxPipeline) that also runs on [`Queues`]: for pipelines whose values are `Clone`. Use it
/// in programs that build pipelines from a configuration and verify them on every deployment.
///
/// ```
/// use millstream::prelude::*;
/// let steps: Vec<BoxEverywhere<Val<u64>, Val<u64>>> = vec![
///     pipeline::<u64>().map(|x| x + 1).boxed_everywhere(),
///     pipeline::<u64>().scan(0, |n, x| { *n += x; *n }).boxed_everywhere(),
/// ];
/// let all = steps.into_iter().reduce(|p, q| p.then(q).boxed_everywhere()).unwrap();
/// assert_eq!(Queues::new().collect((&all).from(0..3))?, all.model(0..3));
/// # Ok::<(), RunError>(())
/// ```
pub struct BoxEverywhere<A, B, Known = AnyPipe> {
    pipeline: Arc<dyn ErasedEverywhere<A, B>>,
    known: PhantomData<fn() -> Known>,
}

/// The owned values of a shape, in a queue.
type Owning<A> = Queue<<A as ToOwnedItem>::Owned>;

/// A shape that every deployment carries. Nothing to implement.
pub trait EveryShape: RingShape + ModelShape + QueueShape {}
impl<A: RingShape + ModelShape + QueueShape> EveryShape for A {}

trait ErasedEverywhere<A: EveryShape, B: EveryShape>: Erased<A, B> {
    fn queues_erased(&self, input: Owning<A>, wiring: &mut QueuesWiring, outer: bool) -> Owning<B>;
}

impl<A: EveryShape, B: EveryShape, P: Everywhere<In = A, Out = B>> ErasedEverywhere<A, B> for P {
    fn queues_erased(&self, input: Owning<A>, wiring: &mut QueuesWiring, outer: bool) -> Owning<B> {
        let deploy = if outer { Deploy::<Queues>::deploy_outer } else { Deploy::<Queues>::deploy };
        deploy(self, input, wiring)
    }
}

/// Boxing a pipeline that runs everywhere, as [`BoxExt`](crate::BoxExt) does for any pipeline.
pub trait BoxEverywhereExt: Everywhere<In: EveryShape, Out: EveryShape> {
    /// This pipeline in a box that can be a body wherever the clock is kept.
    fn boxed_everywhere(self) -> BoxEverywhere<Self::In, Self::Out>
    where
        Self: KeepsClock,
    {
        self.boxed_everywhere_as()
    }

    /// This pipeline in a box of the expected kind, as [`boxed_as`](crate::BoxExt::boxed_as).
    fn boxed_everywhere_as<Known: Fits<Self>>(self) -> BoxEverywhere<Self::In, Self::Out, Known> {
        BoxEverywhere { pipeline: Arc::new(self), known: PhantomData }
    }
}

impl<P: Everywhere<In: EveryShape, Out: EveryShape>> BoxEverywhereExt for P {}

impl<A, B, Known> Clone for BoxEverywhere<A, B, Known> {
    fn clone(&self) -> Self {
        BoxEverywhere { pipeline: self.pipeline.clone(), known: PhantomData }
    }
}

impl<A, B, Known> std::fmt::Debug for BoxEverywhere<A, B, Known> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoxEverywhere")
    }
}

// Suggesting `BoxPipeline` is enough.
#[diagnostic::do_not_recommend]
impl<A, B, Known> Determinate for BoxEverywhere<A, B, Known> {}
impl<A, B> KeepsClock for BoxEverywhere<A, B, AnyPipe> {}
#[diagnostic::do_not_recommend]
impl<A, B> KeepsClock for BoxEverywhere<A, B, QuietPipe> {}
#[diagnostic::do_not_recommend]
impl<A, B> KeepsClock for BoxEverywhere<A, B, PurePipe> {}
#[diagnostic::do_not_recommend]
impl<A, B> Quiet for BoxEverywhere<A, B, QuietPipe> {}
#[diagnostic::do_not_recommend]
impl<A, B> Quiet for BoxEverywhere<A, B, PurePipe> {}
#[diagnostic::do_not_recommend]
impl<A, B> Shardable for BoxEverywhere<A, B, PurePipe> {}

impl<A: EveryShape, B: EveryShape, Known: 'static> Arrow for BoxEverywhere<A, B, Known> {
    type In = A;
    type Out = B;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.pipeline.describe_erased(input, plan)
    }
}

impl<A: EveryShape, B: EveryShape, Known: 'static> Deploy<Model> for BoxEverywhere<A, B, Known> {
    fn deploy(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, false)
    }

    fn deploy_outer(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, true)
    }
}

impl<A: EveryShape, B: EveryShape, Known: 'static> Deploy<Rings> for BoxEverywhere<A, B, Known> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, true)
    }
}

impl<A: EveryShape, B: EveryShape, Known: 'static> Deploy<Queues> for BoxEverywhere<A, B, Known> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<B> {
        self.pipeline.queues_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<B> {
        self.pipeline.queues_erased(input, wiring, true)
    }
}
