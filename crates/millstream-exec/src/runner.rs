use crate::{Inline, RingShape, Rings, Run, RunError, Source};
use millstream_core::model::ModelShape;
use millstream_core::{
    Arrow, Deploy, Determinate, Item, Model, ModelExt, SequenceNumber, Shape, ToOwnedItem, Val, failure,
};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// A deployment with its options, and its requirements on a pipeline: one way to run the same value anywhere.
///
/// [`Model`], [`Inline`], [`Rings`] and, with the feature `queues`, `Queues` run every [determinate](Determinate)
/// pipeline whose shapes they carry, with the same output. Code that works with any deployment is generic over it:
///
/// ```
/// use millstream_core::{Arrow, Dense, Model, Val, pipeline};
/// use millstream_exec::{Inline, Pipeline, Rings, RunError, Runner};
///
/// fn total<P, R>(on: &R, pipeline: &P) -> Result<u64, RunError>
/// where
///     P: Arrow<In = Val<u64>, Out = Val<u64, Dense>>,
///     R: Runner<u64, P>,
/// {
///     Ok(on.run(pipeline, 1..=4, 0, |sum, _, x| *sum += x)?.0)
/// }
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// assert_eq!(total(&Model, &squares)?, 30);
/// assert_eq!(total(&Inline::default(), &squares)?, 30);
/// assert_eq!(total(&Rings::new(), &squares)?, 30);
/// # #[cfg(feature = "queues")]
/// assert_eq!(total(&millstream_exec::Queues::new(), &squares)?, 30);
/// # Ok::<(), RunError>(())
/// ```
pub trait Runner<T: Item, P: Arrow<In = Val<T>>> {
    /// Runs the pipeline to its end. `sink` receives the state and every value of the output with its number, in order,
    /// including END's value. Returns the state and END's number.
    ///
    /// # Errors
    ///
    /// If a closure of the pipeline, the source or the sink panics or fails; if the options contradict each other. The
    /// model knows neither the stage nor the number of a failure.
    fn run<S: Send + 'static>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, SequenceNumber), RunError>;

    /// Returns every value of the output, in order.
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn collect(&self, pipeline: &P, source: impl Source<T>) -> Result<Vec<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P::Out: ToOwnedItem,
    {
        self.run(pipeline, source, Vec::new(), push::<P>).map(|(all, _)| all)
    }

    /// Returns every slot of the output by number, including empty ones and END.
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn collect_slots(
        &self,
        pipeline: &P,
        source: impl Source<T>,
    ) -> Result<Vec<Option<<P::Out as ToOwnedItem>::Owned>>, RunError>
    where
        P::Out: ToOwnedItem,
    {
        let (all, end) = self.run(pipeline, source, Vec::new(), put::<P>)?;
        Ok(padded(all, end))
    }
}

type Owned<P> = <<P as Arrow>::Out as ToOwnedItem>::Owned;

/// A sink that keeps the values.
pub(crate) fn push<P: Arrow<Out: ToOwnedItem>>(
    all: &mut Vec<Owned<P>>,
    _: SequenceNumber,
    value: <P::Out as Shape>::Ref<'_>,
) {
    all.push(P::Out::to_owned_item(value));
}

/// A sink that keeps the slots, up to the last value.
pub(crate) fn put<P: Arrow<Out: ToOwnedItem>>(
    all: &mut Vec<Option<Owned<P>>>,
    SequenceNumber(number): SequenceNumber,
    value: <P::Out as Shape>::Ref<'_>,
) {
    all.resize_with(number as usize, || None);
    all.push(Some(P::Out::to_owned_item(value)));
}

/// The slots that [`put`] collected, with the empty slots up to END.
pub(crate) fn padded<T>(mut all: Vec<Option<T>>, end: SequenceNumber) -> Vec<Option<T>> {
    all.resize_with(end.0 as usize + 1, || None);
    all
}

impl<T: Item, P: Deploy<Model> + Determinate + Arrow<In = Val<T>, Out: ModelShape + ToOwnedItem>> Runner<T, P>
    for Model
{
    fn run<S: Send + 'static>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        mut state: S,
        mut sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, SequenceNumber), RunError> {
        let values = source.values();
        let run = AssertUnwindSafe(|| pipeline.model_each(values, |number, value| sink(&mut state, number, value)));
        match catch_unwind(run) {
            Ok(end) => Ok((state, end)),
            Err(payload) => {
                let cause = failure::into_message(payload);
                Err(RunError::Stage { stage: "model".to_owned(), number: None, cause })
            }
        }
    }
}

impl<T: Item, P: Deploy<Rings> + Determinate + Arrow<In = Val<T>, Out: RingShape>> Runner<T, P> for Rings {
    fn run<S: Send + 'static>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, SequenceNumber), RunError> {
        pipeline.run_with(self, source, state, sink).map(|(state, report)| (state, report.numbers))
    }
}

impl<T: Item, P: Deploy<Rings> + Determinate + Arrow<In = Val<T>, Out: RingShape>> Runner<T, P> for Inline {
    fn run<S: Send + 'static>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, SequenceNumber), RunError> {
        pipeline.run_inline(self.rings(), source, state, sink).map(|(state, report)| (state, report.numbers))
    }
}

#[cfg(feature = "queues")]
impl<T: Item + Clone, P: Deploy<crate::Queues> + Determinate + Arrow<In = Val<T>, Out: crate::QueueShape>> Runner<T, P>
    for crate::Queues
{
    fn run<S: Send + 'static>(
        &self,
        pipeline: &P,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Shape>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, SequenceNumber), RunError> {
        let (state, report) = self.start(pipeline, source, state, sink)?.wait()?;
        Ok((state, report.numbers))
    }
}
