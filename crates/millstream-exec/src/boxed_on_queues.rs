use crate::boxed::{Erased, sealed};
use crate::boxed_block::ErasedStatementsOnQueues;
use crate::{
    AnyPipe, BoxExact, BoxExt, BoxKind, BoxShape, Boxable, Everywhere, Fits, Queue, QueueShape, Queues, QueuesWiring,
    Rings,
};
use millstream_core::{AnyEdge, Arrow, Deploy, Item, ItemShape, KeepsClock, Quiet, Shardable, ToOwnedItem, Val};
use std::marker::PhantomData;
use std::sync::Arc;

/// A [`BoxPipeline`](crate::BoxPipeline) that also runs on [`Queues`]: for pipelines whose values are `Clone`. Use it
/// in programs that build pipelines from a configuration and verify them on every deployment.
///
/// ```
/// use millstream::prelude::*;
/// let steps = ["next", "even"];
/// let all: BoxEverywhere<u64, u64> = steps.iter().fold(pipeline::<u64>().boxed_everywhere(), |p, step| match *step {
///     "next" => p.map(|x| x + 1).boxed_everywhere(),
///     _ => p.filter(|x| x % 2 == 0).boxed_everywhere(),
/// });
/// assert_eq!(all.model(0..4), [2, 4]);
/// assert_eq!(Queues::new().collect((&all).from(0..4))?, [2, 4]);
/// # Ok::<(), RunError>(())
/// ```
pub type BoxEverywhere<A, B, Known = AnyPipe> = BoxExact<Val<A>, AnyEdge<B>, OnQueues<Known>>;

/// The kind of a box whose pipeline has the properties of `Known`, and also runs on queues.
#[derive(Clone, Copy, Debug)]
pub struct OnQueues<Known = AnyPipe>(PhantomData<Known>);

/// A shape that every deployment carries. Nothing to implement.
pub trait EveryShape: BoxShape + QueueShape {}
impl<A: BoxShape + QueueShape> EveryShape for A {}

/// The owned values of a shape, in a queue.
type Owning<A> = Queue<<A as ToOwnedItem>::Owned>;

/// A pipeline between these shapes, as an object.
pub trait ErasedOnQueues<A: BoxShape, B: BoxShape, R = Rings>: Erased<A, B, R> {
    #[doc(hidden)]
    fn queues_erased(&self, input: Owning<A>, wiring: &mut QueuesWiring, outer: bool) -> Owning<B>
    where
        A: QueueShape,
        B: QueueShape;
}

impl<A: EveryShape, B: EveryShape, R, P> ErasedOnQueues<A, B, R> for P
where
    P: Arrow<In = A, Out = B> + Erased<A, B, R> + Deploy<Queues>,
{
    fn queues_erased(&self, input: Owning<A>, wiring: &mut QueuesWiring, outer: bool) -> Owning<B> {
        let deploy = if outer { Deploy::<Queues>::deploy_outer } else { Deploy::<Queues>::deploy };
        deploy(self, input, wiring)
    }
}

impl<Known: BoxKind> sealed::Sealed for OnQueues<Known> {}

impl<Known: BoxKind> BoxKind for OnQueues<Known> {
    type Rings = Known::Rings;
    type Boxed<A: BoxShape, B: BoxShape> = dyn ErasedOnQueues<A, B, Known::Rings>;
    type Statements = dyn ErasedStatementsOnQueues<Known::Rings>;
}

impl<P, Known: Fits<P>> Fits<P> for OnQueues<Known>
where
    P: Arrow<In: EveryShape, Out: EveryShape> + ErasedOnQueues<P::In, P::Out, Known::Rings>,
{
    fn put(pipeline: P) -> Arc<dyn ErasedOnQueues<P::In, P::Out, Known::Rings>> {
        Arc::new(pipeline)
    }
}

#[diagnostic::do_not_recommend]
impl<Known: KeepsClock> KeepsClock for OnQueues<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: Quiet> Quiet for OnQueues<Known> {}
#[diagnostic::do_not_recommend]
impl<Known: Shardable> Shardable for OnQueues<Known> {}

/// Boxing a pipeline that runs everywhere, as [`BoxExt`](crate::BoxExt) does for any pipeline. Its `boxed_as` makes
/// boxes of the other kinds, such as `BoxEverywhere<u64, u64, PurePipe>`.
pub trait BoxEverywhereExt: Everywhere<In: EveryShape, Out: EveryShape> {
    /// This pipeline in a box that can be a body wherever the clock is kept.
    fn boxed_everywhere<T: Item + Clone>(self) -> BoxExact<Self::In, AnyEdge<T>, OnQueues>
    where
        Self: Boxable,
        Self::Out: ItemShape<Item = T> + ToOwnedItem<Owned = T>,
    {
        self.boxed_as()
    }
}

impl<P: Everywhere<In: EveryShape, Out: EveryShape>> BoxEverywhereExt for P {}

/// A kind of box that [`Queues`] run. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`Queues` do not run a box of the kind `{Self}`, whose values may not be `Clone`",
    label = "a box in this pipeline is not of the kind `OnQueues`",
    note = "write `.boxed_everywhere()` for `.boxed()`, and the type `BoxEverywhere<A, B>`, or `.boxed_as()` and `OnQueues<{Self}>`"
)]
pub trait KindOnQueues: BoxKind {
    #[doc(hidden)]
    fn deploy<A: EveryShape, B: EveryShape>(
        inside: &Self::Boxed<A, B>,
        input: Owning<A>,
        wiring: &mut QueuesWiring,
        outer: bool,
    ) -> Owning<B>;
}

#[diagnostic::do_not_recommend]
impl<Known: BoxKind> KindOnQueues for OnQueues<Known> {
    fn deploy<A: EveryShape, B: EveryShape>(
        inside: &Self::Boxed<A, B>,
        input: Owning<A>,
        wiring: &mut QueuesWiring,
        outer: bool,
    ) -> Owning<B> {
        inside.queues_erased(input, wiring, outer)
    }
}

impl<A: EveryShape, B: EveryShape, Known: KindOnQueues> Deploy<Queues> for BoxExact<A, B, Known> {
    fn deploy(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<B> {
        Known::deploy(self.inside(), input, wiring, false)
    }

    fn deploy_outer(&self, input: Owning<A>, wiring: &mut QueuesWiring) -> Owning<B> {
        Known::deploy(self.inside(), input, wiring, true)
    }
}
