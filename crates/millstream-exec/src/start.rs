//! From a pipeline value to a run: wiring, threads, handles.

use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::feed::{self, Output, SweepTasklet};
use crate::handle::Started;
use crate::latency_markers::LatencyMarkers;
use crate::machine::{Cores, usable_cores};
use crate::observer::Observer;
use crate::placement::Controller;
use crate::pool::stepping::step_by_seed;
use crate::pool::{Pool, shared_tasks};
use crate::ring_shape::source_edge;
use crate::shared::Shared;
use crate::sink_tasklet::{Left, SinkTasklet};
use crate::snapshot::{Beginning, Snapshot};
use crate::source::{Connect, External, SourceTasklet, most_slots};
use crate::together::Together;
use crate::wait::IdleStrategy;
use crate::watched::Role;
use crate::worker::work;
use crate::{Handle, RingShape, Rings, RunError, Sink, Source, Wiring};
use millstream_core::{Arrow, Dense, Deploy, Item, Plan, SequenceNumber, Val};
use millstream_ring::{Producer, Reader, ring_from};
use std::sync::Arc;
use std::time::Instant;

/// The threads that call the tasklets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Threads {
    /// The workers.
    Workers,
    /// The calling thread, in pipeline order.
    Inline,
    /// The calling thread, in an order that the seed chooses.
    Stepped(u64),
}

/// Starts the thread of a source that may wait, outside the workers.
type StartFeed = Box<dyn FnOnce(&Arc<Pool>) -> std::io::Result<()> + Send>;

/// A pipeline's tasklets, and its source if that is not a tasklet.
pub(crate) struct Wired<R> {
    wiring: Wiring,
    threads: Threads,
    first: SequenceNumber,
    output: R,
    ring_bytes: usize,
    cores: Cores,
    feeding: Feed,
    feed: Option<StartFeed>,
    end_source: Option<StopSource>,
}

/// Wires a pipeline after its source. Without workers, a source that may wait is a tasklet too.
pub(crate) fn wire<T: Item, P, X: Source<T>>(
    pipeline: &P,
    rings: &Rings,
    source: X,
    threads: Threads,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>,
{
    let source = if threads == Threads::Workers { source.external() } else { Err(source) };
    match source {
        Ok(External(source)) => wire_external(pipeline, rings, source),
        Err(source) => wire_values(pipeline, rings, source, threads),
    }
}

fn wire_values<T: Item, P, X: Source<T>>(
    pipeline: &P,
    rings: &Rings,
    source: X,
    threads: Threads,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>,
{
    let values = source.values();
    let feeding =
        if threads == Threads::Workers { Feed::source::<T, X>() } else { Feed::by_caller(most_slots::<T, X>()) };
    let outside = feeding.threads() > 0;
    let mut feed = None;
    let wired = wire_after(pipeline, rings, threads, (feeding, None), |producer, wiring| {
        let shared = wiring.shared.clone();
        if outside {
            let output = Output::new(producer, shared.clone());
            sweeps(&output, wiring);
            let end_by = output.clone();
            feed = Some(move |pool: &Arc<Pool>| {
                let pool = Arc::downgrade(pool);
                let slots = most_slots::<T, X>();
                let few = slots < usize::MAX;
                let together = move || pool.upgrade().filter(|_| few).and_then(|pool| Together::new(&pool, slots));
                feed::spawn(values, output, shared, together)
            });
            return Ok(Some(Arc::new(end_by) as StopSource));
        }
        let tasklet = if X::WAITS {
            SourceTasklet::waiting(values, producer, shared)
        } else {
            SourceTasklet::ready(values, producer, wiring.batch, shared)
        };
        wiring.end("source", Role::Source, Box::new(tasklet));
        Ok(None)
    })?;
    Ok(Wired { feed: feed.map(|feed| Box::new(feed) as Box<_>), ..wired })
}

/// Wires a pipeline after a source that fills its ring by itself.
fn wire_external<T: Item, P>(
    pipeline: &P,
    rings: &Rings,
    source: Box<dyn Connect<T>>,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>,
{
    let from = (source.feed(), Some(source.shared()));
    wire_after(pipeline, rings, Threads::Workers, from, |producer, wiring| source.connect(producer, wiring).map(Some))
}

/// Adds what drops the values that were released while nothing comes, if such values have to be dropped.
pub(crate) fn sweeps<T: Item>(output: &Output<T>, wiring: &mut Wiring) {
    if Feed::sweeps::<T>() {
        wiring.end("source", Role::Source, Box::new(SweepTasklet(output.clone())));
    }
}

fn wire_after<T: Item, P>(
    pipeline: &P,
    rings: &Rings,
    threads: Threads,
    (feeding, shared): (Feed, Option<Arc<Shared>>),
    source: impl FnOnce(Producer<T>, &mut Wiring) -> std::io::Result<Option<StopSource>>,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<Rings> + Arrow<In = Val<T>, Out: RingShape>,
{
    rings.check()?;
    let (plan, lookup) = Plan::with_lookup(pipeline);
    let own_rings = plan.rings.len();
    let mut plan = rings.planned(plan, feeding);
    rings.check_memory(&plan)?;
    let ring_bytes = plan.bytes().unwrap_or(0);
    let cores = if threads == Threads::Workers { usable_cores() } else { Cores::of_caller() };
    // Observers see the rings from the source's on.
    plan.rings.truncate(own_rings);
    let plan = Arc::new(plan);
    let shared = match shared {
        Some(shared) => {
            shared.adopt(rings.waiting(), cores.usable, &plan);
            shared
        }
        None => Arc::new(Shared::new(IdleStrategy::of(rings.waiting(), cores.usable), LatencyMarkers::of(&plan))),
    };
    let mut wiring =
        Wiring::new(rings.slots(), rings.most(own_rings), threads != Threads::Workers, shared, (plan, lookup));
    let first = rings.beginning().map_or(SequenceNumber(0), Snapshot::at);
    wiring.beginning = rings.beginning().cloned().map(Beginning::new);
    let (producer, input) =
        ring_from::<T, Dense>(first, feeding.slots(rings.slots())).expect("the options were checked");
    wiring.source = Some(producer.probe());
    let end_source = source(producer, &mut wiring).map_err(|error| RunError::Spawn(error.to_string()))?;
    wiring.end_source.clone_from(&end_source);
    let output = pipeline.deploy_outer(source_edge(input), &mut wiring);
    wiring.check()?;
    wiring.beginning.take().map_or(Ok(()), Beginning::check).map_err(RunError::Snapshot)?;
    Ok(Wired { first, wiring, threads, output, ring_bytes, cores, feeding, feed: None, end_source })
}

impl<R> Wired<R> {
    /// The most numbers that a step moves.
    pub(crate) fn batch(&self) -> usize {
        self.wiring.batch
    }

    /// After a failure, the reader of the output gets the output before the failure, and then the failure.
    pub(crate) fn deliver_rest(&self) {
        self.wiring.shared.deliver_rest(true);
    }

    /// Starts the workers. The caller reads the output.
    pub(crate) fn start(self, rings: &Rings) -> Result<(R, Started), RunError> {
        let Wired { wiring, threads, first, output, ring_bytes, cores, feeding, feed, end_source } = self;
        let inline = threads != Threads::Workers;
        let Wiring { shared, mut tasklets, side_sinks, plan, source, batch, .. } = wiring;
        let pass_marks = tasklets.iter_mut().filter_map(|named| named.tasklet.at_marks()).count();
        shared.marks.begin(first, pass_marks, rings.snapshots().cloned());
        let cooperative = shared_tasks(&tasklets);
        let threads_apart = tasklets.len() - cooperative.iter().map(Vec::len).sum::<usize>();
        let mut controller = if inline {
            Controller::fixed(1, "everything on the calling thread".to_owned())
        } else {
            rings.controller(cooperative.len(), cores.usable)
        };
        let names: Vec<&str> = tasklets.iter().map(|tasklet| &*tasklet.name).collect();
        for stage in rings.budgets().without_stage(&names) {
            controller.note(format!("no stage is named {stage:?}: its step budget has no effect"));
        }
        let workers = controller.workers();
        shared.idle.beside(threads_apart + feeding.threads());
        if let Some(refused) = shared.idle.placed(workers) {
            controller.note(refused);
        }
        shared.trace.started(&plan, workers, ring_bytes);
        controller.take_unreported().iter().for_each(|decision| shared.trace.placed(decision));
        let budgets = (!inline).then(|| rings.budgets());
        let pool = Pool::new(tasklets, batch, shared, controller, rings.pins(inline), budgets, &plan);
        pool.observe(rings.observed());
        let since = Instant::now();
        let observer = Observer::new(pool.clone(), plan, source.expect("it was wired"), cores.usable, since);
        let started = Started { pool, observer, end_source, side_sinks, ring_bytes, cores, inline };
        let failed = |error: std::io::Error| RunError::Spawn(error.to_string());
        match threads {
            Threads::Inline => {
                started.pool.run_by_caller();
                work(&started.pool, 0);
            }
            Threads::Stepped(seed) => step_by_seed(&started.pool, seed),
            Threads::Workers => {
                started.pool.start(workers).map_err(failed)?;
                started.pool.start_blocking().map_err(failed)?;
            }
        }
        if let Some(feed) = feed {
            feed(&started.pool).map_err(failed)?;
        }
        Ok((output, started))
    }
}

impl<A: RingShape> Wired<Reader<A>> {
    /// Puts a sink after the output and starts the workers.
    pub(crate) fn start_into<K: Sink<A>>(self, rings: &Rings, sink: K) -> Result<Handle<K::Output>, RunError> {
        let Wired { mut wiring, threads, first, output, ring_bytes, cores, feeding, feed, end_source } = self;
        let left = Left::nothing();
        let sink = SinkTasklet::new(output, sink, wiring.batch, left.clone());
        wiring.end("sink", Role::Sink, Box::new(sink));
        let rest = Wired { wiring, threads, first, output: (), ring_bytes, cores, feeding, feed, end_source };
        let ((), started) = rest.start(rings)?;
        Ok(Handle { started, sink: left })
    }
}
