use crate::boxed_block::ErasedStatements;
use crate::keeps::RingBackend;
use crate::{Boxable, Deployable, RingRunner, RingShape, Rings, Wiring};
use millstream_core::model::{Extent, Model, ModelShape};
use millstream_core::pipe::{Then, ToAnyEdge};
use millstream_core::plan::{Describe, Port};
use millstream_core::{
    AnyEdge, Arrow, Deploy, Determinate, ItemShape, KeepsClock, Level, On, PartsExt, Quiet, Shardable, Val,
};
use millstream_ring::Reader;
use std::sync::Arc;

/// A pipeline from a source of `A`s to `B`s, in a box: for struct fields, vectors of pipelines, and pipelines that are
/// built at run time. [`boxed`](BoxExt::boxed) makes one.
///
/// Its type names the items and not the shape of the output, so pipelines that end with a `map`, a `filter` or a dead
/// letter have one type. No value is copied for that. The output is an [`AnyEdge`]: a stage that reads it on rings
/// looks at its shape once a batch, or calls a function a number if the edge is not one ring with at most four masks.
/// With one worker, too, a pipeline with a box uses its rings: see [`Rings::workers`].
///
/// ```
/// use millstream::prelude::*;
///
/// // From a configuration: which stages there are is known at run time only.
/// fn built(steps: &[&str]) -> BoxPipeline<u64, u64> {
///     steps.iter().fold(pipeline::<u64>().boxed(), |p, step| match *step {
///         "double" => p.map(|x| x * 2).named("double").boxed(),
///         "even" => p.filter(|x| x % 2 == 0).boxed(),
///         "changes" => p.dedup().boxed(),
///         _ => p.try_map_or_empty(|x| x.checked_sub(1).ok_or("zero")).boxed(),
///     })
/// }
///
/// assert_eq!(built(&["less", "even", "double"]).model(0..6), [0, 4, 8]);
/// assert_eq!(built(&["changes", "even"]).collect([1, 2, 2, 4])?, [2, 4]);
/// # Ok::<(), RunError>(())
/// ```
///
/// It runs on the model and on rings, as any [`Deployable`]. If its values are `Clone`, `BoxEverywhere`, with the
/// feature `queues`, also runs on queues. `Known` is the [kind](BoxKind) of the box.
pub type BoxPipeline<A, B, Known = AnyPipe> = BoxExact<Val<A>, AnyEdge<B>, Known>;

/// A stage from any edge of `A`s to `B`s, in a box. It can follow a [`BoxPipeline`], or another `BoxStage`.
///
/// ```
/// use millstream::prelude::*;
/// let steps: Vec<BoxStage<u64, u64>> = vec![
///     id::<AnyEdge<u64>>().map(|x| x + 1).boxed(),
///     id::<AnyEdge<u64>>().filter(|x| x % 2 == 0).boxed(),
///     id::<AnyEdge<u64>>().scan(0, |n, x| { *n += x; *n }).boxed(),
/// ];
/// let all = steps.into_iter().reduce(|p, q| p.then(q).boxed()).unwrap();
/// assert_eq!(pipeline::<u64>().any_edge().then(all).model(0..6), [2, 6, 12]);
/// ```
pub type BoxStage<A, B, Known = AnyPipe> = BoxExact<AnyEdge<A>, AnyEdge<B>, Known>;

/// A pipeline in a box whose type names the exact shapes of both ends. It costs one virtual call a deployment, and its
/// edge costs no more an item than without a box; but the pipeline then uses its rings, as with every box.
/// [`boxed_exact`](BoxExt::boxed_exact) makes one.
///
/// [`BoxPipeline`] and [`BoxStage`] leave the shape of the output open. This box is for pipelines that end with pairs,
/// choices or texts, and for edges that must not cost more than a ring.
///
/// ```
/// use millstream::prelude::*;
/// struct Service {
///     squares: BoxExact<Val<u64>, Pair<Val<u64>, Val<u64>>>,
/// }
/// let service = Service { squares: pipeline::<u64>().fanout(|p| p, |p| p.map(|x| x * x)).boxed_exact() };
/// assert_eq!(service.squares.model([2, 3]), [(2, 4), (3, 9)]);
/// ```
pub struct BoxExact<A: BoxShape, B: BoxShape, Known: BoxKind = AnyPipe> {
    pipeline: Arc<Known::Boxed<A, B>>,
}

/// A shape at the end of a box: every shape of this project. Nothing to implement.
pub trait BoxShape: RingShape + ModelShape {}
impl<A: RingShape + ModelShape> BoxShape for A {}

/// The properties of a box's pipeline that the type of the box states: where it can be a body, and which deployments
/// run it.
///
/// | kind | the pipeline | it can be a body of |
/// |---|---|---|
/// | [`AnyPipe`] | keeps its clock | `fanout`, `both`, `tee` |
/// | [`QuietPipe`] | and is [quiet](Quiet) | and a choice, `shard_by` |
/// | [`PurePipe`] | and is [shardable](Shardable) | and `shard` |
/// | [`FreePipe`] | may renumber | `tee` |
/// | `OnDurable<K>` | as `K`, and its states can be written: also runs on `Durable` rings | as `K` |
/// | `OnQueues<K>` | as `K`, and also runs on queues | as `K` |
pub trait BoxKind: sealed::Sealed {
    /// The rings for which its stages are compiled: they say how states are kept. A box runs on [`Rings`] whichever
    /// they are.
    #[doc(hidden)]
    type Rings: RingRunner;
    /// What is in the box.
    #[doc(hidden)]
    type Boxed<A: BoxShape, B: BoxShape>: ?Sized + Erased<A, B, Self::Rings> + 'static;
    /// What is in a box of statements.
    #[doc(hidden)]
    type Statements: ?Sized + ErasedStatements<Self::Rings> + 'static;
}

/// A kind of box that a pipeline may be in by its laws, whatever it runs on. Nothing to implement.
pub trait Admits<P>: BoxKind {}

/// A boxed pipeline that keeps its clock.
#[derive(Clone, Copy, Debug)]
pub enum AnyPipe {}

/// A boxed pipeline that keeps its clock and is quiet: it can be a lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum QuietPipe {}

/// A boxed pipeline that keeps its clock, and is quiet and stateless: it can be the body of a `shard`.
#[derive(Clone, Copy, Debug)]
pub enum PurePipe {}

/// A boxed pipeline without known properties. It may [renumber](millstream_core::ClockExt), so it can be the
/// body of a `tee` alone.
#[derive(Clone, Copy, Debug)]
pub enum FreePipe {}

/// A pipeline between these shapes, as an object.
pub trait Erased<A: BoxShape, B: BoxShape, R = Rings>: Send + Sync {
    #[doc(hidden)]
    fn describe_erased(&self, input: Port, plan: &mut Describe) -> Port;
    #[doc(hidden)]
    fn model_erased(&self, input: <A as On<Model>>::Edge, extent: &mut Extent, outer: bool) -> <B as On<Model>>::Edge;
    #[doc(hidden)]
    fn rings_erased(&self, input: Reader<A>, wiring: &mut Wiring, outer: bool) -> Reader<B>;
}

impl<R: RingRunner, A: BoxShape + RingShape<R>, B: BoxShape + RingShape<R>, P> Erased<A, B, R> for P
where
    P: Arrow<In = A, Out = B> + Deploy<Model> + Deploy<RingBackend<R>>,
{
    fn describe_erased(&self, input: Port, plan: &mut Describe) -> Port {
        self.describe(input, plan)
    }

    fn model_erased(&self, input: <A as On<Model>>::Edge, extent: &mut Extent, outer: bool) -> <B as On<Model>>::Edge {
        let deploy = if outer { Deploy::<Model>::deploy_outer } else { Deploy::<Model>::deploy };
        deploy(self, input, extent)
    }

    fn rings_erased(&self, input: Reader<A>, wiring: &mut Wiring, outer: bool) -> Reader<B> {
        let level = if outer { Level::Outer } else { Level::Body };
        Deploy::<RingBackend<R>>::deploy_at(self, input, level, wiring)
    }
}

/// A kind of box that a pipeline fits into, since it has the properties of the kind. Nothing to implement.
pub trait Fits<P: Arrow<In: BoxShape, Out: BoxShape>>: BoxKind {
    #[doc(hidden)]
    fn put(pipeline: P) -> Arc<Self::Boxed<P::In, P::Out>>;
}

macro_rules! kinds {
    ($($kind:ident: $law:path),*) => {$(
        impl sealed::Sealed for $kind {}

        impl BoxKind for $kind {
            type Rings = Rings;
            type Boxed<A: BoxShape, B: BoxShape> = dyn Erased<A, B>;
            type Statements = dyn ErasedStatements;
        }

        impl<P: Determinate + $law> Admits<P> for $kind {}

        impl<P: Deployable<In: BoxShape, Out: BoxShape> + $law> Fits<P> for $kind {
            fn put(pipeline: P) -> Arc<dyn Erased<P::In, P::Out>> {
                Arc::new(pipeline)
            }
        }
    )*};
}
kinds!(AnyPipe: KeepsClock, QuietPipe: Quiet, PurePipe: Shardable, FreePipe: Determinate);

pub(crate) mod sealed {
    pub trait Sealed: 'static {}
}

/// Boxing a pipeline at the end of its expression.
///
/// ```
/// use millstream::prelude::*;
///
/// /// A struct field needs a type that can be written.
/// struct Service {
///     letters: BoxPipeline<String, char, FreePipe>,
///     upper: BoxPipeline<char, char, PurePipe>,
/// }
///
/// let service = Service {
///     letters: pipeline::<String>().flat_map(|word: &String| word.chars().collect::<Vec<_>>()).boxed_as(),
///     upper: pipeline::<char>().map(char::to_ascii_uppercase).boxed_as(),
/// };
/// assert_eq!(service.letters.model(["ab".to_owned(), "c".to_owned()]), ['a', 'b', 'c']);
/// let sharded = pipeline::<char>().shard(2, move |p| p.then(service.upper));
/// assert_eq!(sharded.model(['a', 'b']), ['A', 'B']);
/// ```
pub trait BoxExt: Deployable<In: BoxShape, Out: BoxShape> {
    /// This pipeline in a box that can be a body wherever the clock is kept. The type of the box names the items of the
    /// output, and not its shape: it is a [`BoxPipeline`] if this pipeline begins at a source.
    fn boxed(self) -> BoxExact<Self::In, AnyEdge<<Self::Out as ItemShape>::Item>>
    where
        Self: Boxable,
        Self::Out: ItemShape,
    {
        self.boxed_as()
    }

    /// As [`boxed`](BoxExt::boxed), in a box of the [kind](BoxKind) that its use expects: [`QuietPipe`] for a lane of a
    /// choice, [`PurePipe`] for a `shard`, [`FreePipe`] for a pipeline that renumbers.
    fn boxed_as<Known>(self) -> BoxExact<Self::In, AnyEdge<<Self::Out as ItemShape>::Item>, Known>
    where
        Self::Out: ItemShape,
        Known: Fits<Then<Self, ToAnyEdge<Self::Out>>>,
    {
        self.any_edge().boxed_exact()
    }

    /// This pipeline in a box whose type names the shapes of both ends, so that its edges cost nothing more an item.
    /// The kind of the box is the one that its use expects.
    fn boxed_exact<Known: Fits<Self>>(self) -> BoxExact<Self::In, Self::Out, Known> {
        BoxExact::of(self)
    }
}

impl<P: Deployable<In: BoxShape, Out: BoxShape>> BoxExt for P {}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> Clone for BoxExact<A, B, Known> {
    fn clone(&self) -> Self {
        BoxExact { pipeline: self.pipeline.clone() }
    }
}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> std::fmt::Debug for BoxExact<A, B, Known> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoxExact")
    }
}

// The laws of the kinds, and those of the boxes by them.
#[diagnostic::do_not_recommend]
impl KeepsClock for AnyPipe {}
#[diagnostic::do_not_recommend]
impl KeepsClock for QuietPipe {}
#[diagnostic::do_not_recommend]
impl KeepsClock for PurePipe {}
#[diagnostic::do_not_recommend]
impl Quiet for QuietPipe {}
#[diagnostic::do_not_recommend]
impl Quiet for PurePipe {}
#[diagnostic::do_not_recommend]
impl Shardable for PurePipe {}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> Determinate for BoxExact<A, B, Known> {}
impl<A: BoxShape, B: BoxShape, Known: BoxKind + KeepsClock> KeepsClock for BoxExact<A, B, Known> {}
impl<A: BoxShape, B: BoxShape, Known: BoxKind + Quiet> Quiet for BoxExact<A, B, Known> {}
impl<A: BoxShape, B: BoxShape, Known: BoxKind + Shardable> Shardable for BoxExact<A, B, Known> {}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> BoxExact<A, B, Known> {
    /// A box of this pipeline, which may be one that runs on other rings than [`Rings`] alone.
    #[doc(hidden)]
    pub fn of<P: Arrow<In = A, Out = B>>(pipeline: P) -> Self
    where
        Known: Fits<P>,
    {
        BoxExact { pipeline: Known::put(pipeline) }
    }

    #[cfg(any(feature = "queues", feature = "durable"))]
    pub(crate) fn inside(&self) -> &Known::Boxed<A, B> {
        &self.pipeline
    }
}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> Arrow for BoxExact<A, B, Known> {
    type In = A;
    type Out = B;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.pipeline.describe_erased(input, plan)
    }
}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> Deploy<Model> for BoxExact<A, B, Known> {
    fn deploy(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, false)
    }

    fn deploy_outer(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, true)
    }
}

impl<A: BoxShape, B: BoxShape, Known: BoxKind> Deploy<RingBackend> for BoxExact<A, B, Known> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, true)
    }
}
