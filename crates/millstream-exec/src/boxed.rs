use crate::{Deployable, RingShape, Rings, Wiring};
use millstream_core::model::{Extent, Model, ModelShape};
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Deploy, Determinate, KeepsClock, On, Quiet, Shardable};
use millstream_ring::Reader;
use std::marker::PhantomData;
use std::sync::Arc;

/// A boxed pipeline that keeps its clock.
#[derive(Clone, Copy, Debug)]
pub enum AnyPipe {}

/// A boxed pipeline that keeps its clock and is quiet: it can be a lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum QuietPipe {}

/// A boxed pipeline that keeps its clock, and is quiet and stateless: it can be the body of a `shard`.
#[derive(Clone, Copy, Debug)]
pub enum PurePipe {}

/// A boxed pipeline without known properties. It may [renumber](millstream_core::ClockExt), so it cannot be a body.
#[derive(Clone, Copy, Debug)]
pub enum FreePipe {}

/// A pipeline whose type names only its input and its output: for struct fields, vectors of pipelines, and pipelines
/// that are built at run time. It costs one virtual call a deployment, and nothing per item. [`BoxExt::boxed`] makes
/// one.
///
/// It runs on the model and on rings, as any [`Deployable`]. If its values are `Clone`, `BoxEverywhere`, with the
/// feature `queues`, is a box that also runs on queues.
///
/// ```
/// use millstream::prelude::*;
/// let steps: Vec<BoxPipeline<Val<u64>, Val<u64>>> = vec![
///     BoxPipeline::new(pipeline::<u64>().map(|x| x + 1)),
///     BoxPipeline::new(pipeline::<u64>().scan(0, |n, x| { *n += x; *n })),
/// ];
/// let all = steps.into_iter().reduce(|p, q| BoxPipeline::new(p.then(q))).unwrap();
/// assert_eq!(all.model([0, 1, 2]), [1, 3, 6]);
/// ```
pub struct BoxPipeline<A, B, Known = AnyPipe> {
    pipeline: Arc<dyn Erased<A, B>>,
    known: PhantomData<fn() -> Known>,
}

pub(crate) trait Erased<A: RingShape + ModelShape, B: RingShape + ModelShape>: Send + Sync {
    fn describe_erased(&self, input: Port, plan: &mut Describe) -> Port;
    fn model_erased(&self, input: <A as On<Model>>::Edge, extent: &mut Extent, outer: bool) -> <B as On<Model>>::Edge;
    fn rings_erased(&self, input: Reader<A>, wiring: &mut Wiring, outer: bool) -> Reader<B>;
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape, P> Erased<A, B> for P
where
    P: Arrow<In = A, Out = B> + Deploy<Model> + Deploy<Rings>,
{
    fn describe_erased(&self, input: Port, plan: &mut Describe) -> Port {
        self.describe(input, plan)
    }

    fn model_erased(&self, input: <A as On<Model>>::Edge, extent: &mut Extent, outer: bool) -> <B as On<Model>>::Edge {
        let deploy = if outer { Deploy::<Model>::deploy_outer } else { Deploy::<Model>::deploy };
        deploy(self, input, extent)
    }

    fn rings_erased(&self, input: Reader<A>, wiring: &mut Wiring, outer: bool) -> Reader<B> {
        let deploy = if outer { Deploy::<Rings>::deploy_outer } else { Deploy::<Rings>::deploy };
        deploy(self, input, wiring)
    }
}

/// A kind of box that a pipeline fits into, since it has the properties of the kind. Nothing to implement.
pub trait Fits<P>: sealed::Sealed {}
impl<P: KeepsClock> Fits<P> for AnyPipe {}
impl<P: Quiet> Fits<P> for QuietPipe {}
impl<P: Shardable> Fits<P> for PurePipe {}
impl<P> Fits<P> for FreePipe {}

mod sealed {
    pub trait Sealed: 'static {}
    impl Sealed for super::AnyPipe {}
    impl Sealed for super::QuietPipe {}
    impl Sealed for super::PurePipe {}
    impl Sealed for super::FreePipe {}
}

/// Boxing a pipeline at the end of its expression. The kind of box is inferred from its use; [`boxed`](BoxExt::boxed)
/// makes one that keeps its clock.
///
/// ```
/// use millstream::prelude::*;
///
/// /// A struct field needs a type that can be written.
/// struct Service {
///     parse: BoxPipeline<Val<String>, Val<u64>, PurePipe>,
/// }
///
/// // From a configuration: which stages there are is known at run time only.
/// fn built(steps: &[&str]) -> BoxPipeline<Val<u64>, Val<u64>> {
///     steps.iter().fold(pipeline::<u64>().boxed(), |p, step| match *step {
///         "double" => p.map(|x| x * 2).named("double").boxed(),
///         _ => p.delay(0).named("delay").boxed(),
///     })
/// }
///
/// let service = Service { parse: pipeline::<String>().map(|s| s.len() as u64).boxed_as() };
/// let p = pipeline::<String>()
///     .shard(2, move |p| p.then(service.parse))
///     .then(built(&["double", "delay"]));
/// assert_eq!(p.model(["a", "bcd"].map(String::from)), [0, 2]);
/// ```
pub trait BoxExt: Deployable<In: RingShape + ModelShape, Out: RingShape + ModelShape> {
    /// This pipeline in a box that can be a body wherever the clock is kept.
    fn boxed(self) -> BoxPipeline<Self::In, Self::Out>
    where
        Self: KeepsClock,
    {
        self.boxed_as()
    }

    /// This pipeline in a box of the expected kind: [`QuietPipe`] for a lane of a choice, [`PurePipe`] for a `shard`,
    /// [`FreePipe`] for a pipeline that renumbers.
    fn boxed_as<Known: Fits<Self>>(self) -> BoxPipeline<Self::In, Self::Out, Known> {
        BoxPipeline { pipeline: Arc::new(self), known: PhantomData }
    }
}

impl<P: Deployable<In: RingShape + ModelShape, Out: RingShape + ModelShape>> BoxExt for P {}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape> BoxPipeline<A, B> {
    /// Boxes a pipeline; as [`boxed`](BoxExt::boxed).
    pub fn new<P: Deployable<In = A, Out = B> + KeepsClock>(pipeline: P) -> Self {
        pipeline.boxed_as()
    }
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape> BoxPipeline<A, B, QuietPipe> {
    /// Boxes a pipeline that can be a lane of a choice.
    pub fn quiet<P: Deployable<In = A, Out = B> + Quiet>(pipeline: P) -> Self {
        pipeline.boxed_as()
    }
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape> BoxPipeline<A, B, PurePipe> {
    /// Boxes a pipeline that can be a `shard`'s body.
    pub fn pure<P: Deployable<In = A, Out = B> + Shardable>(pipeline: P) -> Self {
        pipeline.boxed_as()
    }
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape> BoxPipeline<A, B, FreePipe> {
    /// Boxes a pipeline that may renumber.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// struct Job {
    ///     words: BoxPipeline<Val<String>, Val<char>, FreePipe>,
    /// }
    /// let letters = |word: &String| word.chars().collect::<Vec<_>>();
    /// let job = Job { words: BoxPipeline::free(pipeline::<String>().flat_map(letters)) };
    /// assert_eq!(job.words.model(["ab".to_owned(), "c".to_owned()]), ['a', 'b', 'c']);
    /// ```
    pub fn free<P: Deployable<In = A, Out = B>>(pipeline: P) -> Self {
        pipeline.boxed_as()
    }
}

impl<A, B, Known> Clone for BoxPipeline<A, B, Known> {
    fn clone(&self) -> Self {
        BoxPipeline { pipeline: self.pipeline.clone(), known: PhantomData }
    }
}

impl<A, B, Known> std::fmt::Debug for BoxPipeline<A, B, Known> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BoxPipeline")
    }
}

impl<A, B, Known> Determinate for BoxPipeline<A, B, Known> {}
impl<A, B> KeepsClock for BoxPipeline<A, B, AnyPipe> {}
impl<A, B> KeepsClock for BoxPipeline<A, B, QuietPipe> {}
impl<A, B> KeepsClock for BoxPipeline<A, B, PurePipe> {}
impl<A, B> Quiet for BoxPipeline<A, B, QuietPipe> {}
impl<A, B> Quiet for BoxPipeline<A, B, PurePipe> {}
impl<A, B> Shardable for BoxPipeline<A, B, PurePipe> {}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape, Known: 'static> Arrow for BoxPipeline<A, B, Known> {
    type In = A;
    type Out = B;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.pipeline.describe_erased(input, plan)
    }
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape, Known: 'static> Deploy<Model> for BoxPipeline<A, B, Known> {
    fn deploy(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, false)
    }

    fn deploy_outer(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, true)
    }
}

impl<A: RingShape + ModelShape, B: RingShape + ModelShape, Known: 'static> Deploy<Rings> for BoxPipeline<A, B, Known> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, true)
    }
}
