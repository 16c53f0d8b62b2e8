use crate::{Carried, Rings, Wiring};
use millstream_core::model::{Extent, Listed, Model};
use millstream_core::plan::{Describe, Port};
use millstream_core::{Arrow, Deploy, KeepsClock, On, Quiet, Stateless};
use millstream_ring::Reader;
use std::marker::PhantomData;
use std::sync::Arc;

/// What is known of a boxed pipeline: that it keeps its clock.
#[derive(Clone, Copy, Debug)]
pub enum AnyPipe {}

/// What is known of a boxed pipeline: that it keeps its clock and is quiet, so that it can stand in a lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum QuietPipe {}

/// What is known of a boxed pipeline: that it keeps its clock, and is quiet and stateless, so that it can be a
/// `shard`'s body.
#[derive(Clone, Copy, Debug)]
pub enum PurePipe {}

/// What is known of a boxed pipeline: nothing. It may [renumber](millstream_core::ClockExt), so it cannot be a body.
#[derive(Clone, Copy, Debug)]
pub enum FreePipe {}

/// A pipeline whose type says only what goes in and what comes out: for struct fields, vectors of pipelines, and
/// pipelines that are built while the program runs. It costs one virtual call a deployment, and nothing per item.
///
/// ```
/// use millstream_core::{Arrow, Modelled, Val, pipeline};
/// use millstream_exec::BoxPipeline;
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

trait Erased<A: Carried + Listed, B: Carried + Listed>: Send + Sync {
    fn describe_erased(&self, input: Port, plan: &mut Describe) -> Port;
    fn model_erased(&self, input: <A as On<Model>>::Edge, extent: &mut Extent, outer: bool) -> <B as On<Model>>::Edge;
    fn rings_erased(&self, input: Reader<A>, wiring: &mut Wiring, outer: bool) -> Reader<B>;
}

impl<A: Carried + Listed, B: Carried + Listed, P> Erased<A, B> for P
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

impl<A: Carried + Listed, B: Carried + Listed> BoxPipeline<A, B> {
    /// Boxes a pipeline.
    pub fn new<P>(pipeline: P) -> Self
    where
        P: Arrow<In = A, Out = B> + KeepsClock + Deploy<Model> + Deploy<Rings>,
    {
        BoxPipeline { pipeline: Arc::new(pipeline), known: PhantomData }
    }
}

impl<A: Carried + Listed, B: Carried + Listed> BoxPipeline<A, B, QuietPipe> {
    /// Boxes a pipeline that can stand in a lane of a choice.
    pub fn quiet<P>(pipeline: P) -> Self
    where
        P: Arrow<In = A, Out = B> + KeepsClock + Quiet + Deploy<Model> + Deploy<Rings>,
    {
        BoxPipeline { pipeline: Arc::new(pipeline), known: PhantomData }
    }
}

impl<A: Carried + Listed, B: Carried + Listed> BoxPipeline<A, B, PurePipe> {
    /// Boxes a pipeline that can be a `shard`'s body.
    pub fn pure<P>(pipeline: P) -> Self
    where
        P: Arrow<In = A, Out = B> + KeepsClock + Quiet + Stateless + Deploy<Model> + Deploy<Rings>,
    {
        BoxPipeline { pipeline: Arc::new(pipeline), known: PhantomData }
    }
}

impl<A: Carried + Listed, B: Carried + Listed> BoxPipeline<A, B, FreePipe> {
    /// Boxes a pipeline that may renumber.
    ///
    /// ```
    /// use millstream_core::{Arrow, ClockExt, Modelled, Val, pipeline};
    /// use millstream_exec::{BoxPipeline, FreePipe};
    /// struct Job {
    ///     words: BoxPipeline<Val<String>, Val<char>, FreePipe>,
    /// }
    /// let letters = |word: &String| word.chars().collect::<Vec<_>>();
    /// let job = Job { words: BoxPipeline::free(pipeline::<String>().flat_map(letters)) };
    /// assert_eq!(job.words.model(["ab".to_owned(), "c".to_owned()]), ['a', 'b', 'c']);
    /// ```
    pub fn free<P>(pipeline: P) -> Self
    where
        P: Arrow<In = A, Out = B> + Deploy<Model> + Deploy<Rings>,
    {
        BoxPipeline { pipeline: Arc::new(pipeline), known: PhantomData }
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

impl<A, B> KeepsClock for BoxPipeline<A, B, AnyPipe> {}
impl<A, B> KeepsClock for BoxPipeline<A, B, QuietPipe> {}
impl<A, B> KeepsClock for BoxPipeline<A, B, PurePipe> {}
impl<A, B> Quiet for BoxPipeline<A, B, QuietPipe> {}
impl<A, B> Quiet for BoxPipeline<A, B, PurePipe> {}
impl<A, B> Stateless for BoxPipeline<A, B, PurePipe> {}

impl<A: Carried + Listed, B: Carried + Listed, Known: 'static> Arrow for BoxPipeline<A, B, Known> {
    type In = A;
    type Out = B;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        self.pipeline.describe_erased(input, plan)
    }
}

impl<A: Carried + Listed, B: Carried + Listed, Known: 'static> Deploy<Model> for BoxPipeline<A, B, Known> {
    fn deploy(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, false)
    }

    fn deploy_outer(&self, input: <A as On<Model>>::Edge, extent: &mut Extent) -> <B as On<Model>>::Edge {
        self.pipeline.model_erased(input, extent, true)
    }
}

impl<A: Carried + Listed, B: Carried + Listed, Known: 'static> Deploy<Rings> for BoxPipeline<A, B, Known> {
    fn deploy(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, false)
    }

    fn deploy_outer(&self, input: Reader<A>, wiring: &mut Wiring) -> Reader<B> {
        self.pipeline.rings_erased(input, wiring, true)
    }
}
