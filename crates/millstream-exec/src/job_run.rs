//! Jobs made of a pipeline, and run in one line.

use crate::keeps::RingBackend;
use crate::sink::SinkResult;
use crate::{
    Handle, Job, JobSink, NoSink, Report, RingShape, Rings, RunError, Runner, RunsOn, Sink, Source, SourceItem,
    SourceShape, Through,
};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Shape, ToOwnedItem, Val};
use std::borrow::Borrow;
use std::marker::PhantomData;

/// Makes jobs of a pipeline, and runs one in one line on [`Rings::new()`](Rings::new).
pub trait JobExt: Arrow {
    /// This pipeline on the values of `source`: a [`Job`], which owns the pipeline.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let doubled = pipeline::<u64>().map(|x| x * 2).from([3, 4]);
    /// assert_eq!(Rings::new().workers(1).collect(doubled)?, [6, 8]);
    /// # Ok::<(), RunError>(())
    /// ```
    fn from<X>(self, source: X) -> Job<Self, X>
    where
        Self::In: SourceShape,
        X: Source<SourceItem<Self>>,
    {
        Job { pipeline: self, source, sink: NoSink, kind: PhantomData }
    }

    /// Every value of the output, in order, on [`Rings::new()`](Rings::new): `rings.collect(pipeline.from(source))`.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// assert_eq!(pipeline::<u64>().map(|x| x * x).collect(1..=3)?, [1, 4, 9]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    fn collect<X>(&self, source: X) -> Result<Vec<<Self::Out as ToOwnedItem>::Owned>, RunError>
    where
        Self: RunsOn<Rings>,
        Self::Out: ToOwnedItem,
        X: Source<<Self as RunsOn<Rings>>::Item>,
    {
        let job: Job<Self, X, NoSink, &Self> = Job { pipeline: self, source, sink: NoSink, kind: PhantomData };
        Rings::new().collect(job)
    }

    // The methods of a job, which no pipeline has: each says so in a message.

    #[doc(hidden)]
    fn to<K: Sink<Self::Out>>(self, _: K) -> Self::Job
    where
        Self: Sourced,
    {
        self.job()
    }

    #[doc(hidden)]
    fn to_each<R, F>(self, _: F) -> Self::Job
    where
        Self: Sourced,
        F: for<'a> FnMut(SequenceNumber, <Self::Out as Shape>::Ref<'a>) -> R,
    {
        self.job()
    }

    #[doc(hidden)]
    fn to_fold<S, R, F>(self, _: S, _: F) -> Self::Job
    where
        Self: Sourced,
        F: for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Shape>::Ref<'a>) -> R,
    {
        self.job()
    }

    #[doc(hidden)]
    fn run(self) -> Self::Job
    where
        Self: Sourced,
    {
        self.job()
    }

    #[doc(hidden)]
    fn start(self) -> Self::Job
    where
        Self: Sourced,
    {
        self.job()
    }
}

/// A pipeline that has a source, and so is a job: none is.
#[diagnostic::on_unimplemented(
    message = "this pipeline has no source: write `.from(source)` before its sink",
    label = "`.from(source)` makes a job of a pipeline; a job has sinks, and runs",
    note = "for example `p.from(source).to_each(|number, x| ..).run()`, or `p.collect(source)`"
)]
pub trait Sourced {
    /// The job.
    type Job;
    /// This pipeline as a job.
    fn job(self) -> Self::Job;
}

impl<P: Arrow> JobExt for P {}

/// A reference to a pipeline as a job.
pub trait JobRefExt: Copy {
    /// The pipeline.
    type Pipeline: Arrow;

    /// As [`JobExt::from`], for a pipeline that is needed again: the job borrows it. A run that goes on after the call,
    /// as after [`Runner::start`], does not borrow the pipeline any more.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let doubled = pipeline::<u64>().map(|x| x * 2);
    /// for workers in 1..=3 {
    ///     assert_eq!(Rings::new().workers(workers).collect((&doubled).from([3, 4]))?, [6, 8]);
    /// }
    /// # Ok::<(), RunError>(())
    /// ```
    fn from<X>(self, source: X) -> Job<Self::Pipeline, X, NoSink, Self>
    where
        <Self::Pipeline as Arrow>::In: SourceShape,
        X: Source<SourceItem<Self::Pipeline>>,
    {
        Job { pipeline: self, source, sink: NoSink, kind: PhantomData }
    }
}

impl<P: Arrow> JobRefExt for &P {
    type Pipeline = P;
}

impl<P, X, K, B> Job<P, X, K, B>
where
    P: RunsOn<Rings>,
    X: Source<P::Item>,
    B: Borrow<P>,
{
    /// Runs it on [`Rings::new()`](Rings::new): see [`Runner::run`].
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn run<O: Send + 'static>(self) -> Result<(O, Report), RunError>
    where
        K: JobSink<P::Out, Output = O>,
    {
        Rings::new().run(self)
    }

    /// Starts it on [`Rings::new()`](Rings::new): see [`Runner::start`].
    ///
    /// # Errors
    ///
    /// As [`Runner::start`].
    pub fn start<O: Send + 'static>(self) -> Result<Handle<O>, RunError>
    where
        K: JobSink<P::Out, Output = O>,
    {
        Rings::new().start(self)
    }
}

impl<P, X, B> Job<P, X, NoSink, B>
where
    P: RunsOn<Rings>,
    X: Source<P::Item>,
    B: Borrow<P>,
{
    /// Every value of the output, in order, on [`Rings::new()`](Rings::new).
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn collect(self) -> Result<Vec<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P::Out: ToOwnedItem,
    {
        Rings::new().collect(self)
    }

    /// Every slot of the output, by number, on [`Rings::new()`](Rings::new): see [`Runner::collect_slots`].
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn collect_slots(self) -> Result<Vec<Option<<P::Out as ToOwnedItem>::Owned>>, RunError>
    where
        P::Out: ToOwnedItem,
    {
        Rings::new().collect_slots(self)
    }

    /// The last value of the output, a fold's answer for example, on [`Rings::new()`](Rings::new); none if there is no
    /// value.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let sum = pipeline::<u64>().fold(0, |sum, x| *sum += x, |sum| sum);
    /// assert_eq!(sum.from(1..=4).last()?, Some(10));
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn last(self) -> Result<Option<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P::Out: ToOwnedItem,
    {
        Rings::new().last(self)
    }

    /// Calls `f` with every number and value of the output, on [`Rings::new()`](Rings::new): see [`Runner::for_each`].
    ///
    /// # Errors
    ///
    /// As [`Runner::run`].
    pub fn for_each<R, F>(self, f: F) -> Result<Report, RunError>
    where
        R: SinkResult,
        F: for<'a> FnMut(SequenceNumber, <P::Out as Shape>::Ref<'a>) -> R + Send + 'static,
    {
        Rings::new().for_each(self, f)
    }
}

impl<T: Item, P, X, B> Job<P, X, NoSink, B>
where
    P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape + ToOwnedItem>,
    X: Source<T>,
    B: Borrow<P>,
{
    /// The outputs as an iterator, on [`Rings::new()`](Rings::new): see [`Rings::iter`].
    ///
    /// # Errors
    ///
    /// As [`Runner::start`].
    pub fn iter(self) -> Result<Through<P::Out>, RunError> {
        Rings::new().iter(self)
    }
}
