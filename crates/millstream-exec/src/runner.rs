use crate::fusion::JobEnds;
use crate::keeps::{RingBackend, RingRunner};
use crate::restart::run_again;
use crate::sink::{SinkResult, collect, collect_slots, each, last};
use crate::sink_tasklet::{Finish, Left};
use crate::source::Again;
use crate::start::{Threads, wire};
use crate::{
    Handle, Inline, Job, JobSink, NoSink, Report, RingShape, Rings, RunEnd, RunError, RunOutcome, Sink, Source,
};
use millstream_core::failure::{StageFailure, caught, fail};
use millstream_core::model::{ModelShape, NamedSinks};
use millstream_core::{
    Arrow, Density, Deploy, Determinate, Item, Model, ModelExt, Retry, SequenceNumber, Shape, ToOwnedItem, Val,
};
use std::borrow::Borrow;
use std::cell::Cell;
use std::time::Instant;

/// A deployment with its options, which runs [`Job`]s. The same job has the same output on any of them.
///
/// There are [`Rings`], [`Inline`], [`Model`] and, with the feature `queues`, `Queues`. The [`Model`] does not run
/// pipelines with [`unordered`](millstream_core::AsyncExt::unordered), whose output has another order in every run. A
/// function can take any runner:
///
/// ```
/// use millstream::prelude::*;
///
/// fn total<P, R>(on: &R, pipeline: &P) -> Result<u64, RunError>
/// where
///     P: Arrow<In = Val<u64>, Out = Val<u64, Dense>> + RunsOn<R, Item = u64>,
///     R: Runner,
/// {
///     let job = pipeline.from(1..=4).to_fold(0, |sum, _number, x| *sum += x);
///     Ok(on.run(job)?.0)
/// }
///
/// let squares = pipeline::<u64>().map(|x| x * x);
/// assert_eq!(total(&Model, &squares)?, 30);
/// assert_eq!(total(&Inline::default(), &squares)?, 30);
/// assert_eq!(total(&Rings::new(), &squares)?, 30);
/// # #[cfg(feature = "queues")]
/// assert_eq!(total(&Queues::new(), &squares)?, 30);
/// # Ok::<(), RunError>(())
/// ```
pub trait Runner: Sized {
    /// A run that was started. The handles of [`Rings`] and queues wait, drain and stop; on [`Inline`] and [`Model`]
    /// the run is over when `start` returns.
    type Handle<O: Send + 'static>: Into<RunEnd<O>>;

    /// Runs the job to its end: the sink gets every value of the output with its number, END's among them, in order.
    /// Returns what the sink's [`finish`](Sink::finish) returns, and a report of the run.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let job = pipeline::<u64>().map(|x| x + 1).from(0..9).to_fold(0, |sum, _, x| *sum += x);
    /// let (sum, report) = Rings::new().run(job)?;
    /// assert_eq!((sum, report.values), (45, 9));
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a closure of the pipeline, the source or the sink fails or panics. The error names the stage, the number and
    /// the cause; by then every worker has ended, and neither the failed number nor any later one has reached the sink
    /// from that stage. If the options do not fit together. The [`Model`] knows the stage and the number of a failure
    /// only if the sink failed.
    fn run<P, X, K, B>(&self, job: Job<P, X, K, B>) -> Result<(K::Output, Report), RunError>
    where
        P: RunsOn<Self>,
        X: Source<P::Item>,
        K: JobSink<P::Out>,
        B: Borrow<P>,
    {
        let ended: RunEnd<K::Output> = self.start(job)?.into();
        ended.ok()
    }

    /// Starts the job. On [`Rings`] and queues it returns at once, with a handle that waits, drains and stops.
    /// [`Inline`] and [`Model`] run the job to its end first; what they return says how it ended, even if it failed.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let run = Rings::new().start(pipeline::<u64>().from(0..).to_each(|_, _| ()))?;
    /// let ((), report) = run.drain(Duration::from_secs(60))?;
    /// assert_eq!(report.outcome, RunOutcome::Drained);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the options do not fit together, or a thread could not be started.
    fn start<P, X, K, B>(&self, job: Job<P, X, K, B>) -> Result<Self::Handle<K::Output>, RunError>
    where
        P: RunsOn<Self>,
        X: Source<P::Item>,
        K: JobSink<P::Out>,
        B: Borrow<P>,
    {
        job.pipeline.borrow().start_on(self, job.source, job.sink)
    }

    /// Returns every value of the output, in order.
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn collect<P, X, B>(&self, job: Job<P, X, NoSink, B>) -> Result<Vec<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P: RunsOn<Self>,
        P::Out: ToOwnedItem,
        X: Source<P::Item>,
        B: Borrow<P>,
    {
        self.run(job.to(collect())).map(|(all, _)| all)
    }

    /// Returns every slot of the output, by number, empty ones and END among them, as the model's `model_slots` does.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let odd = pipeline::<u64>().filter(|x| x % 2 == 1);
    /// let slots = Rings::new().collect_slots((&odd).from(1..=3))?;
    /// assert_eq!(slots, [Some(1), None, Some(3), None]);
    /// assert_eq!(slots, odd.model_slots(1..=3));
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn collect_slots<P, X, B>(
        &self,
        job: Job<P, X, NoSink, B>,
    ) -> Result<Vec<Option<<P::Out as ToOwnedItem>::Owned>>, RunError>
    where
        P: RunsOn<Self>,
        P::Out: ToOwnedItem,
        X: Source<P::Item>,
        B: Borrow<P>,
    {
        let (mut all, report) = self.run(job.to(collect_slots()))?;
        // It cuts nothing off.
        all.resize_with(all.len().max(report.numbers.0 as usize + 1), || None);
        Ok(all)
    }

    /// Returns the last value of the output, a fold's answer for example; `None` if there is no value. It clones every
    /// value.
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn last<P, X, B>(&self, job: Job<P, X, NoSink, B>) -> Result<Option<<P::Out as ToOwnedItem>::Owned>, RunError>
    where
        P: RunsOn<Self>,
        P::Out: ToOwnedItem,
        X: Source<P::Item>,
        B: Borrow<P>,
    {
        self.run(job.to(last())).map(|(last, _)| last)
    }

    /// Calls `f` with every number and value of the output, in order; `f` returns nothing, or a `Result` whose error
    /// ends the run.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let (out, outputs) = std::sync::mpsc::channel();
    /// let report = Rings::new().for_each(pipeline().from(0..3), move |_number, x| out.send(*x))?;
    /// assert_eq!((report.values, outputs.iter().sum::<i32>()), (3, 3));
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// As [`run`](Runner::run).
    fn for_each<P, X, B, R, F>(&self, job: Job<P, X, NoSink, B>, f: F) -> Result<Report, RunError>
    where
        P: RunsOn<Self>,
        X: Source<P::Item>,
        B: Borrow<P>,
        R: SinkResult,
        F: for<'a> FnMut(SequenceNumber, <P::Out as Shape>::Ref<'a>) -> R + Send + 'static,
    {
        self.run(job.to(each(f))).map(|((), report)| report)
    }

    /// As [`run`](Runner::run), but if a stage or the source fails, runs the job again from number 0, on a new source,
    /// after a pause. [`Retry`] says how often and how long; the count starts again whenever a try gets further than
    /// those before. The source is [`source::again`](crate::source::again), which makes a new one for every try.
    ///
    /// The sink gets every number once. A pipeline is determinate, so the outputs at numbers that the sink already has
    /// are the same, and are skipped. One with [`unordered`](millstream_core::AsyncExt::unordered) is not, and is
    /// refused. The source must yield the same values every time, at least as far as it was read. All the work before
    /// the failure is done again. A failure of the sink is final, since it is not known how far its state has come.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::sync::atomic::{AtomicBool, Ordering};
    /// use std::time::Duration;
    /// let broken = AtomicBool::new(true);
    /// let p = pipeline::<u64>().try_map(move |x| {
    ///     let fails = *x == 5 && broken.swap(false, Ordering::Relaxed);
    ///     if fails { Err("the server has gone away") } else { Ok(x * 10) }
    /// });
    /// let job = p.from(source::again(|| 0..8)).to_fold(Vec::new(), |all, _, x| all.push(*x));
    /// let retry = Retry::times(3).backoff(Duration::from_millis(1));
    /// let (all, _) = Rings::new().run_again(job, retry)?;
    /// assert_eq!(all, [0, 10, 20, 30, 40, 50, 60, 70]);
    /// # Ok::<(), RunError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The last failure, if there were too many; any failure of the sink; and if the options do not fit together.
    fn run_again<P: RunsOn<Self> + Determinate, X, F, K, B>(
        &self,
        job: Job<P, Again<F>, K, B>,
        retry: Retry,
    ) -> Result<(K::Output, Report), RunError>
    where
        X: Source<P::Item>,
        F: FnMut() -> X,
        K: JobSink<P::Out>,
        B: Borrow<P>,
    {
        run_again(self, job, retry)
    }
}

/// The shape of a source's edge: single values, dense. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "a source cannot fill an edge of shape `{Self}`",
    note = "a pipeline that is run begins with values, one a number, as `pipeline::<T>()` does"
)]
pub trait SourceShape: Shape {
    /// The type of its values.
    type Item: Item;
}

impl<T: Item, D: Density> SourceShape for Val<T, D> {
    type Item = T;
}

/// The items of a pipeline's source.
pub type SourceItem<P> = <<P as Arrow>::In as SourceShape>::Item;

/// A pipeline that a deployment can run. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot run on `{R}`",
    label = "this pipeline cannot run there",
    note = "a closure that has a name of its own says that it takes a reference: `let add = |x: &u64| x + 1`"
)]
pub trait RunsOn<R: Runner>: Arrow {
    /// The items of its source.
    type Item: Item;

    /// Starts it.
    #[doc(hidden)]
    fn start_on<X, K>(&self, on: &R, source: X, sink: K) -> Result<R::Handle<K::Output>, RunError>
    where
        X: Source<Self::Item>,
        K: Sink<Self::Out>;
}

impl Runner for Rings {
    type Handle<O: Send + 'static> = Handle<O>;
}

impl<T: Item, P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape>> RunsOn<Rings> for P {
    type Item = T;

    fn start_on<X, K>(&self, on: &Rings, source: X, sink: K) -> Result<Handle<K::Output>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        wire::<Rings, JobEnds<X::Values, K>, _, _, _, false>(self, on, source, Threads::Workers)?.start_into(on, sink)
    }
}

impl Runner for Inline {
    type Handle<O: Send + 'static> = Handle<O>;
}

impl<T: Item, P: Deploy<RingBackend> + Arrow<In = Val<T>, Out: RingShape>> RunsOn<Inline> for P {
    type Item = T;

    fn start_on<X, K>(&self, on: &Inline, source: X, sink: K) -> Result<Handle<K::Output>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        wire::<Rings, JobEnds<X::Values, K>, _, _, _, true>(self, on.rings(), source, Threads::Inline)?
            .start_into(on.rings(), sink)
    }
}

impl Runner for Model {
    type Handle<O: Send + 'static> = RunEnd<O>;
}

impl<T: Item, P: Deploy<Model> + Determinate + Arrow<In = Val<T>, Out: ModelShape + ToOwnedItem>> RunsOn<Model> for P {
    type Item = T;

    fn start_on<X, K>(&self, _: &Model, source: X, sink: K) -> Result<RunEnd<K::Output>, RunError>
    where
        X: Source<T>,
        K: Sink<P::Out>,
    {
        let (values, mut sink) = (source.into_values(), sink);
        let (mut report, at, since) = (Report::of_caller(), Cell::new(None), Instant::now());
        let named = NamedSinks::default();
        let ended = caught(|| {
            let end = self.model_each_beside(&named, values, |number, value| {
                at.set(Some(number.0));
                sink.put(number, value).unwrap_or_else(|error| fail(error));
                at.set(None);
                report.values += 1;
            });
            at.set(Some(end.0));
            sink.pause().unwrap_or_else(|error| fail(error));
            end
        });
        let of_stage =
            |failed: StageFailure| RunError::unwound_with(&failed.stage, Some(failed.number), failed.payload);
        let mut failure = match ended {
            Ok(end) => {
                report.numbers = end;
                None
            }
            Err(payload) => {
                report.outcome = RunOutcome::Failed;
                let stage = if at.get().is_some() { "sink" } else { "model" };
                Some(match payload.downcast::<StageFailure>() {
                    Ok(failed) => of_stage(*failed),
                    Err(payload) => RunError::unwound_with(stage, at.get(), payload),
                })
            }
        };
        if let Err(failed) = named.finish(report.outcome) {
            report.outcome = RunOutcome::Failed;
            let failed = of_stage(failed);
            failure.get_or_insert(failed);
        }
        report.elapsed = since.elapsed();
        Ok(Left::of(sink, &report).end(report, failure))
    }
}

impl<O, R: RingRunner> From<Handle<O, R>> for RunEnd<O> {
    fn from(run: Handle<O, R>) -> Self {
        run.join()
    }
}

#[cfg(feature = "queues")]
mod on_queues {
    use super::{Runner, RunsOn};
    use crate::{QueueShape, Queues, QueuesHandle, RunEnd, RunError, Sink, Source};
    use millstream_core::{Arrow, Deploy, Item, Val};

    impl Runner for Queues {
        type Handle<O: Send + 'static> = QueuesHandle<O>;
    }

    impl<T, P> RunsOn<Queues> for P
    where
        T: Item + Clone,
        P: Deploy<Queues> + Arrow<In = Val<T>, Out: QueueShape>,
    {
        type Item = T;

        fn start_on<X, K>(&self, on: &Queues, source: X, sink: K) -> Result<QueuesHandle<K::Output>, RunError>
        where
            X: Source<T>,
            K: Sink<P::Out>,
        {
            on.start_job(self, source, sink)
        }
    }

    impl<O> From<QueuesHandle<O>> for RunEnd<O> {
        fn from(run: QueuesHandle<O>) -> Self {
            run.join()
        }
    }
}
