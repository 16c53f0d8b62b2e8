use crate::carried::source_edge;
use crate::feed::Sweeper;
use crate::running::{Running, Shared, place};
use crate::sink::{Outcome, Sink};
use crate::source::SourceTasklet;
use crate::worker::work;
use crate::{Carried, Report, Rings, RunError, Source, Wiring, feed, stepped};
use millstream_core::{Arrow, Deploy, Event, Flow, Full, Own, SequenceNumber, Val};
use millstream_ring::{Reader, ring};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Running a pipeline on rings.
pub trait Run<T: Event>: Deploy<Rings> + Arrow<In = Val<T>, Out: Carried> {
    /// Runs the pipeline to its end: `sink` gets every value of the output with its number, END's among them, in
    /// order, on a worker.
    ///
    /// # Errors
    ///
    /// If a closure of the pipeline, the source or the sink panics: the error names the stage, the number and the
    /// message, every worker has ended, and no number at or behind the failure reached the sink from that stage. If
    /// the options do not fit together.
    fn run(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        mut sink: impl for<'a> FnMut(SequenceNumber, <Self::Out as Flow>::Ref<'a>) + Send + 'static,
    ) -> Result<Report, RunError> {
        let outcome = self.run_with(rings, source, (), move |(), number, value| sink(number, value));
        outcome.map(|((), report)| report)
    }

    /// As [`run`](Run::run), with a state that the sink gets every time, and that is given back at the end.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn run_with<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Flow>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        execute(self, rings, source, state, sink, Threads::Workers)
    }

    /// As [`run_with`](Run::run_with), all of it on the calling thread: no thread is started, and nothing is
    /// published before the source gives its next value has been worked off.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn run_inline<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Flow>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        execute(self, rings, source, state, sink, Threads::Inline)
    }

    /// As [`run_inline`](Run::run_inline), with the stages' steps in an order that `seed` chooses: the same seed replays
    /// the same schedule. For tests.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    ///
    /// # Panics
    ///
    /// If the stages wait for each other: a deadlock.
    fn run_stepped<S: Send + 'static>(
        &self,
        rings: &Rings,
        source: impl Source<T>,
        seed: u64,
        state: S,
        sink: impl for<'a> FnMut(&mut S, SequenceNumber, <Self::Out as Flow>::Ref<'a>) + Send + 'static,
    ) -> Result<(S, Report), RunError> {
        execute(self, rings, source, state, sink, Threads::Stepped(seed))
    }

    /// Every value of the output, in order.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn collect(&self, rings: &Rings, source: impl Source<T>) -> Result<Vec<<Self::Out as Own>::Owned>, RunError>
    where
        Self::Out: Own,
    {
        let push = |all: &mut Vec<_>, _, value: <Self::Out as Flow>::Ref<'_>| all.push(Self::Out::own(value));
        self.run_with(rings, source, Vec::new(), push).map(|(all, _)| all)
    }

    /// Every slot of the output, by number, empty ones and END among them: what the model's `model_slots` gives.
    ///
    /// # Errors
    ///
    /// As [`run`](Run::run).
    fn collect_slots(
        &self,
        rings: &Rings,
        source: impl Source<T>,
    ) -> Result<Vec<Option<<Self::Out as Own>::Owned>>, RunError>
    where
        Self::Out: Own,
    {
        let put = |all: &mut Vec<_>, SequenceNumber(number), value: <Self::Out as Flow>::Ref<'_>| {
            all.resize_with(number as usize, || None);
            all.push(Some(Self::Out::own(value)));
        };
        let (mut all, report) = self.run_with(rings, source, Vec::new(), put)?;
        all.resize_with(report.numbers.0 as usize + 1, || None);
        Ok(all)
    }
}

impl<T: Event, P: Deploy<Rings> + Arrow<In = Val<T>, Out: Carried>> Run<T> for P {}

/// A pipeline's tasklets, and what is not a tasklet: a source that may wait.
pub(crate) struct Wired<A: Carried> {
    pub(crate) wiring: Wiring,
    pub(crate) output: Reader<A>,
    pub(crate) ring_bytes: usize,
    pub(crate) feed: Option<Feed>,
}

/// Starts the source's thread.
pub(crate) type Feed = Box<dyn FnOnce(Arc<Shared>) -> std::io::Result<()> + Send>;

/// Wires a pipeline behind its source. `inline` runs a source that may wait as a tasklet, one value at a time.
pub(crate) fn wire<T: Event, P, X: Source<T>>(
    pipeline: &P,
    rings: &Rings,
    source: X,
    inline: bool,
) -> Result<Wired<P::Out>, RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: Carried>,
{
    rings.check()?;
    let plan = pipeline.plan().with_capacity(rings.slots());
    let ring_bytes = plan.bytes().unwrap_or(0);
    let mut wiring = Wiring::new(rings.slots(), rings.most(), plan);
    let (producer, input) = ring::<T, Full>(rings.slots()).expect("the options were checked");
    let values = source.values();
    let feed: Option<Feed> = if X::WAITS && !inline {
        let output = Arc::new(Mutex::new(producer));
        if std::mem::needs_drop::<T>() {
            wiring.end("source", Box::new(Sweeper(output.clone())));
        }
        Some(Box::new(move |shared| feed::spawn(values, output, shared)))
    } else {
        let tasklet = if X::WAITS {
            SourceTasklet::waiting(values, producer)
        } else {
            SourceTasklet::ready(values, producer, rings.most())
        };
        wiring.end("source", Box::new(tasklet));
        None
    };
    let output = pipeline.deploy(source_edge(input), &mut wiring);
    Ok(Wired { wiring, output, ring_bytes, feed })
}

/// Who calls the tasklets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    /// The workers.
    Workers,
    /// The calling thread, in pipeline order.
    Inline,
    /// The calling thread, in an order that the seed chooses.
    Stepped(u64),
}

fn execute<T: Event, P, S: Send + 'static>(
    pipeline: &P,
    rings: &Rings,
    source: impl Source<T>,
    state: S,
    sink: impl for<'a> FnMut(&mut S, SequenceNumber, <P::Out as Flow>::Ref<'a>) + Send + 'static,
    threads: Threads,
) -> Result<(S, Report), RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: Carried>,
{
    let inline = threads != Threads::Workers;
    let Wired { mut wiring, output, ring_bytes, feed } = wire(pipeline, rings, source, inline)?;
    let outcome = Arc::new(Mutex::new(None));
    let sink = Sink {
        input: output,
        state: Some(state),
        f: sink,
        batch: rings.most(),
        values: 0,
        at_end: None,
        outcome: outcome.clone(),
    };
    wiring.end("sink", Box::new(sink));
    let tasklets = wiring.tasklets.len();
    let workers = if inline { 1 } else { rings.workers_for(tasklets) };
    let shared = Arc::new(Shared::new(workers + usize::from(feed.is_some())));
    let started = Instant::now();
    let mut placed = place(wiring.tasklets, workers);
    // The calling thread is the last worker: the one with the sink.
    let own = placed.pop().unwrap_or_default();
    let mut running = Running::start(shared.clone(), placed)?;
    if let Some(feed) = feed {
        feed(shared.clone()).map_err(|error| RunError::Spawn(error.to_string()))?;
    }
    match threads {
        Threads::Stepped(seed) => stepped::work(own, &shared, seed),
        _ => work(own, &shared),
    }
    running.join()?;
    let outcome = outcome.lock().unwrap_or_else(PoisonError::into_inner).take();
    let Outcome { state, numbers, values } = outcome.expect("a run without a failure comes to its end");
    let workers = if inline { 0 } else { workers };
    Ok((state, Report { numbers, values, workers, tasklets, ring_bytes, elapsed: started.elapsed() }))
}
