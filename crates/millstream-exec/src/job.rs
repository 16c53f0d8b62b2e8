use crate::Sink;
use crate::sink::{Each, Fold, OnPause, SinkResult, each, fold};
use millstream_core::{Arrow, SequenceNumber, Shape};
use std::borrow::Borrow;
use std::fmt;
use std::marker::PhantomData;

/// What a deployment runs: a source, a pipeline and a sink. Building one starts nothing.
///
/// `pipeline.from(source)` is a job without a sink, and `.to(sink)` adds one. A job owns its pipeline, unless it was
/// made from a reference: `(&pipeline).from(source)` leaves the pipeline for the next job.
///
/// ```
/// use millstream::prelude::*;
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// assert_eq!(Model.collect((&squares).from(1..=3))?, [1, 4, 9]);
/// assert_eq!(Inline::default().last((&squares).from(1..=3))?, Some(9));
///
/// let job = squares.from(1..=3).to_fold(0, |sum, _number, x| *sum += x);
/// let (sum, report) = Rings::new().workers(2).run(job)?;
/// assert_eq!((sum, report.numbers.0), (14, 3));
/// # Ok::<(), RunError>(())
/// ```
///
/// Its own methods `run`, `start`, `collect`, `collect_slots`, `last`, `for_each` and `iter` run it on rings with the
/// default options, [`Rings::new()`](crate::Rings::new).
#[must_use = "a job does nothing until a deployment runs it"]
pub struct Job<P, X, K = NoSink, B = P> {
    pub(crate) pipeline: B,
    pub(crate) source: X,
    pub(crate) sink: K,
    pub(crate) kind: PhantomData<fn() -> P>,
}

/// The sink of a [`Job`] that has none yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoSink;

/// A sink for the edge `A`, which a job that runs has. Nothing to implement: every [`Sink`] is one.
#[diagnostic::on_unimplemented(
    message = "this job has no sink: write `.to_each(..)`, `.to_fold(..)` or `.to(sink)` after `.from(source)`",
    label = "its sink is `{Self}`, which takes nothing from the edge `{A}`",
    note = "`collect`, `for_each`, `last` and `iter` need no sink: `p.collect(source)`, `p.from(source).for_each(|number, x| ..)`"
)]
pub trait JobSink<A: Shape>: Sink<A> {}
#[diagnostic::do_not_recommend]
impl<A: Shape, K: Sink<A>> JobSink<A> for K {}

impl<P: Arrow, X, B: Borrow<P>> Job<P, X, NoSink, B> {
    /// Adds this sink, after which the job can be [run](crate::Runner::run) and [started](crate::Runner::start).
    pub fn to<K: Sink<P::Out>>(self, sink: K) -> Job<P, X, K, B> {
        Job { pipeline: self.pipeline, source: self.source, sink, kind: PhantomData }
    }

    /// Adds a closure with a state as the sink: `f` gets the state, every number and every value, and the run returns
    /// the state. `f` returns nothing, or a `Result` whose error ends the run. See [`sink::fold`](fold).
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let job = pipeline::<u64>()
    ///     .from(1..=4)
    ///     .to_fold(Vec::new(), |all, number, x| all.push((number.0, *x)));
    /// assert_eq!(job.run()?.0, [(0, 1), (1, 2), (2, 3), (3, 4)]);
    ///
    /// let few = pipeline::<u64>().from(1..=4).to_fold(0, |n, _, x| {
    ///     *n += 1;
    ///     if *x < 3 { Ok(()) } else { Err("too large") }
    /// });
    /// assert_eq!(few.run().unwrap_err().to_string(), "stage \"sink\", number 2: too large");
    /// # Ok::<(), RunError>(())
    /// ```
    pub fn to_fold<S, R, F>(self, state: S, f: F) -> Job<P, X, Fold<S, F, R>, B>
    where
        S: Send + 'static,
        R: SinkResult,
        F: for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) -> R + Send + 'static,
    {
        self.to(fold(state, f))
    }

    /// Adds a closure as the sink: `f` gets every number and every value, and returns nothing, or a `Result` whose
    /// error ends the run. See [`sink::each`](each).
    pub fn to_each<R, F>(self, f: F) -> Job<P, X, Each<F, R>, B>
    where
        R: SinkResult,
        F: for<'a> FnMut(SequenceNumber, <P::Out as Shape>::Ref<'a>) -> R + Send + 'static,
    {
        self.to(each(f))
    }
}

impl<P, X, B, S, F, R> Job<P, X, Fold<S, F, R>, B> {
    /// Calls `pause` with the state when no more values are there for now: see [`Fold::on_pause`].
    pub fn on_pause<G>(self, pause: G) -> Job<P, X, OnPause<S, F, G, R>, B>
    where
        G: FnMut(&mut S) -> R + Send + 'static,
    {
        Job { pipeline: self.pipeline, source: self.source, sink: self.sink.on_pause(pause), kind: PhantomData }
    }
}

impl<P, X, K, B> fmt::Debug for Job<P, X, K, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").finish_non_exhaustive()
    }
}
