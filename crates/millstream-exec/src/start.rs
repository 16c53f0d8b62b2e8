//! From a pipeline value to a run: wiring, threads, handles.

mod origin;
mod threads;

pub(crate) use origin::sweeps;
pub(crate) use threads::Threads;

use crate::explain::Feed;
use crate::external_source::StopSource;
use crate::fusion::link::{EndsOfRun, Pace};
use crate::fusion::{LEAST_PAST, MakeLoop, MakesLoop, NoEnds, RunEnds, sink_tasklet};
use crate::handle::Started;
use crate::keeps::{RingBackend, RingRunner};
use crate::machine::{Cores, usable_cores};
use crate::marks::LaysMarks;
use crate::observer::Observer;
use crate::placement::Controller;
use crate::pool::Pool;
use crate::pool::roster::entries;
use crate::pool::stepping::step_by_seed;
use crate::present::Present;
use crate::reactor::Reactor;
use crate::ring_shape::source_edge;
use crate::shared::Shared;
use crate::sink_tasklet::{Left, SinkTasklet, Splice};
use crate::snapshot::{Beginning, Start};
use crate::source::{External, StopOnDrop};
use crate::source_ring::{SourceFork, SourceRing};
use crate::upgrade::{AnyFork, Ends, Site, restore};
use crate::wait::IdleStrategy;
use crate::watched::Role;
use crate::wiring::Home;
use crate::worker::work;
use crate::{Handle, RingShape, Rings, RunError, Sink, Source, Wiring};
use millstream_core::plan::StageLookup;
use millstream_core::{Arrow, Dense, Deploy, Item, Level, Plan, SequenceNumber, Val};
use millstream_ring::{Reader, RingLayout, ring_from};
use origin::{Connected, Origin, StartFeed};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, Weak};
use std::time::Instant;

/// A wired pipeline and its output. The types of its ends are here, so that the code that starts it is compiled once.
pub(crate) struct Wired<R> {
    run: WiredRun,
    output: R,
    fork: AnyFork,
}

/// A pipeline's tasklets, and its source if that is not a tasklet.
struct WiredRun {
    version: Version,
    threads: Threads,
    first: SequenceNumber,
    cores: Cores,
    feeding: Feed,
    feed: Option<StartFeed>,
    end_source: Option<StopSource>,
    /// Stops the source's senders if the run does not begin.
    stop: StopOnDrop,
}

/// A pipeline's tasklets and the bytes of its rings.
pub(crate) struct Version {
    pub(crate) wiring: Wiring,
    pub(crate) ring_bytes: usize,
}

/// Wires a pipeline after its source. If all runs `ON_CALLER`, without workers, a source that may wait is a tasklet.
pub(crate) fn wire<R: RingRunner, W: RunEnds<P::Out>, T: Item, P, X: Source<T>, const ON_CALLER: bool>(
    pipeline: &P,
    rings: &Rings,
    source: X,
    threads: Threads,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    let source = if threads == Threads::Workers { source.external() } else { Err(source) };
    let origin = match source {
        Ok(External(source)) => Origin::external(source),
        Err(source) => Origin::values(source, threads),
    };
    if X::IN_LOOP && !X::WAITS {
        return wire_after::<R, W, _, _>(pipeline, rings, threads, origin);
    }
    if X::IN_LOOP && ON_CALLER {
        return wire_after::<R, W::OneByOne, _, _>(pipeline, rings, threads, origin);
    }
    if X::LOOP_BEHIND {
        return wire_after::<R, W::Behind, _, _>(pipeline, rings, threads, origin);
    }
    wire_after::<R, NoEnds, _, _>(pipeline, rings, threads, origin)
}

fn wire_after<R: RingRunner, W: RunEnds<P::Out>, T: Item, P>(
    pipeline: &P,
    rings: &Rings,
    threads: Threads,
    origin: Origin<T>,
) -> Result<Wired<Reader<P::Out>>, RunError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    let planned = Planned::of::<R, P>(pipeline, rings, origin.feeding)?;
    let (mut run, input, fork) = wire_source(planned, rings, threads, origin)?;
    let beginning = rings.beginning().cloned().map(Beginning::new);
    let wiring = &mut run.version.wiring;
    wiring.pace = match threads {
        Threads::Stepped(_) => Pace::Untimed,
        _ if rings.has_set_batch() => Pace::One,
        _ => Pace::Several,
    };
    wiring.observed = rings.observed();
    let output = run.version.deploy::<R, W, _, _>(pipeline, input, beginning)?;
    Ok(Wired { run, output, fork })
}

/// Wires the source, and its ring. No stage reads that yet.
fn wire_source<T: Item>(
    planned: Planned,
    rings: &Rings,
    threads: Threads,
    origin: Origin<T>,
) -> Result<(WiredRun, Reader<Val<T>>, AnyFork), RunError> {
    let Origin { feeding, shared, connect } = origin;
    let cores = if threads == Threads::Workers { usable_cores() } else { Cores::of_caller() };
    let shared = match shared {
        Some(shared) => {
            shared.adopt(rings.waiting(), cores.usable);
            shared
        }
        None => Arc::new(Shared::new(IdleStrategy::of(rings.waiting(), cores.usable))),
    };
    let stop = StopOnDrop(Some(shared.clone()));
    let mut version = planned.wiring(rings, threads != Threads::Workers, shared, 0);
    let first = rings.beginning().map_or(SequenceNumber(0), Start::at);
    let (producer, input) =
        ring_from::<T, Dense>(first, feeding.slots(rings.slots())).expect("the options were checked");
    let (wiring, fork) = (&mut version.wiring, SourceFork::new());
    wiring.source = Some(producer.probe());
    if wiring.fuses() || wiring.tries_workers {
        // A source that a loop may take from puts itself there.
        wiring.ends = Some(EndsOfRun::behind_ring());
    }
    let connected = connect(SourceRing::new(producer, fork.clone()), wiring);
    let Connected { end, feed } = connected.map_err(|error| RunError::Spawn(error.to_string()))?;
    wiring.end_source.clone_from(&end);
    let run = WiredRun { version, threads, first, cores, feeding, feed, end_source: end, stop };
    Ok((run, input, AnyFork::of(fork)))
}

/// Wires a new version of a run's pipeline, which has this plan, from `input` on.
pub(crate) fn deploy_version<R: RingRunner, T: Item, P>(
    pipeline: &P,
    planned: Planned,
    site: &Site,
    pool: &Pool,
    input: Reader<Val<T>>,
    beginning: Beginning,
) -> Result<(Version, Reader<P::Out>), RunError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    let Site { rings, source, end_source, reactor, inline, .. } = site;
    let mut version = planned.wiring(rings, *inline, pool.shared.clone(), pool.next_order());
    let wiring = &mut version.wiring;
    wiring.source = Some(source.clone());
    wiring.end_source = end_source.as_ref().and_then(Weak::upgrade);
    wiring.reactor = Some(reactor.clone());
    let output = version.deploy::<R, NoEnds, _, _>(pipeline, input, Some(beginning))?;
    Ok((version, output))
}

/// A pipeline's plan on these rings.
pub(crate) struct Planned {
    plan: Arc<Plan>,
    lookup: StageLookup,
    ring_bytes: usize,
}

impl Planned {
    fn of<R: RingRunner, P: Arrow>(pipeline: &P, rings: &Rings, feeding: Feed) -> Result<Self, RunError> {
        let (plan, lookup) = Plan::with_lookup(pipeline);
        R::check_names(&plan)?;
        let own_rings = plan.rings.len();
        let mut plan = rings.checked(plan, feeding)?;
        let ring_bytes = plan.bytes().unwrap_or(0);
        // Observers see the rings from the source's on.
        plan.rings.truncate(own_rings);
        Ok(Planned { plan: Arc::new(plan), lookup, ring_bytes })
    }

    /// The plan of a new version of a run's pipeline.
    #[inline(never)] // two callers, for each pipeline of a program
    pub(crate) fn of_version<R: RingRunner, P: Arrow>(pipeline: &P, site: &Site) -> Result<Self, RunError> {
        Self::of::<R, P>(pipeline, &site.rings, site.feeding)
    }

    /// Nothing is wired yet. The run has had `before` tasklets.
    fn wiring(self, rings: &Rings, inline: bool, shared: Arc<Shared>, before: usize) -> Version {
        let Planned { plan, lookup, ring_bytes } = self;
        let most = rings.most(plan.rings.len());
        let mut wiring = Wiring::new(rings.slots(), most, inline, shared, before, (plan, lookup));
        wiring.stages_on = rings.which_stages_on();
        wiring.one_thread |= rings.has_one_worker();
        wiring.tries_workers = !inline && rings.chooses_workers();
        Version { wiring, ring_bytes }
    }
}

impl Version {
    /// Wires the stages, with the states of this snapshot.
    fn deploy<R: RingRunner, W: RunEnds<P::Out>, T: Item, P>(
        &mut self,
        pipeline: &P,
        input: Reader<Val<T>>,
        beginning: Option<Beginning>,
    ) -> Result<Reader<P::Out>, RunError>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
    {
        let wiring = &mut self.wiring;
        wiring.beginning = beginning;
        let input = source_edge::<R, T>(input);
        // A stepped run compares the two ways in any case.
        let pays = wiring.pace == Pace::Untimed || wiring.batch >= LEAST_PAST;
        let of_loop = if W::APART || !pays { None } else { wiring.of_loop() };
        let makes: Option<MakesLoop> =
            of_loop.and_then(|mut of_loop| pipeline.passage(&mut of_loop, MakeLoop::<W>::new()));
        if makes.is_some() {
            wiring.is_passed();
        }
        let first = wiring.tasklets.len();
        let output = Deploy::<RingBackend<R>>::deploy_at(pipeline, input, Level::Outer, wiring);
        let begun = match wiring.beginning.take().map_or(Ok(None), Beginning::finish) {
            Ok(Some(changed)) => restore(&changed, output.position(), &mut wiring.tasklets[first..], &wiring.plan),
            judged => judged.map(drop),
        };
        if let Some(make) = makes {
            let stages = wiring.tasklets.split_off(first);
            let stages = make(stages, wiring);
            wiring.tasklets.extend(stages);
        }
        wiring.check()?;
        begun.map_err(RunError::Snapshot)?;
        Ok(output)
    }
}

impl<R> Wired<R> {
    /// The most numbers that a step moves.
    pub(crate) fn batch(&self) -> usize {
        self.run.version.wiring.batch
    }

    /// After a failure, the reader of the output gets the output before the failure, and then the failure.
    pub(crate) fn deliver_rest(&self) {
        self.run.version.wiring.shared.deliver_rest(true);
    }

    /// Starts the workers. The caller reads the output.
    pub(crate) fn start(self, rings: &Rings) -> Result<(R, Started), RunError> {
        Ok((self.output, self.run.start(rings, None)?))
    }
}

impl WiredRun {
    /// Starts the workers of a run that can be upgraded if it has `ends`.
    fn start(self, rings: &Rings, ends: Option<Ends>) -> Result<Started, RunError> {
        let WiredRun { version, threads, first, cores, feeding, feed, end_source, mut stop } = self;
        let inline = threads != Threads::Workers;
        let Version { wiring, ring_bytes } = version;
        let Wiring { shared, mut tasklets, side_sinks, plan, source, batch, reactor, .. } = wiring;
        let source = source.expect("it was wired");
        let pass_marks = tasklets.iter_mut().filter_map(|named| named.tasklet.at_marks()).count();
        let lays = end_source.as_ref().map(Arc::downgrade).map(|source| -> LaysMarks {
            Box::new(move || source.upgrade().into_iter().for_each(|source| source.lay_mark()))
        });
        shared.marks.begin(first, pass_marks, rings.snapshots(), lays);
        let entries = entries(&tasklets);
        let threads_apart = tasklets.iter().filter(|tasklet| tasklet.home == Home::Thread).count();
        let mut controller = if inline {
            Controller::fixed(1, "everything on the calling thread".to_owned())
        } else {
            Controller::of(rings.wanted(cores.usable), entries)
        };
        let names: Vec<&str> = tasklets.iter().map(|tasklet| &*tasklet.name).collect();
        for stage in rings.budgets().without_stage(&names) {
            controller.note(format!("no stage is named {stage:?}: its step budget has no effect"));
        }
        let workers = controller.workers();
        shared.idle.beside(feeding.threads());
        shared.idle.apart(threads_apart);
        if let Some(refused) = shared.idle.placed(workers) {
            controller.note(refused);
        }
        shared.trace.started(&plan, workers, ring_bytes);
        controller.take_unreported().iter().for_each(|decision| shared.trace.placed(decision));
        let budgets = (!inline).then(|| rings.budgets());
        let pool = Pool::new(tasklets, batch, shared, controller, rings.pins(inline), budgets, &plan);
        pool.observe(rings.observed());
        let since = Instant::now();
        let observer = Observer::first(pool.clone(), plan, source.clone(), (cores.usable, since));
        let present = Arc::new(Mutex::new(Present::first(observer, side_sinks, ring_bytes)));
        let site = Site {
            pool: Arc::downgrade(&pool),
            present: present.clone(),
            rings: rings.without_upgrades(),
            feeding,
            source,
            end_source: end_source.as_ref().map(Arc::downgrade),
            reactor: reactor.unwrap_or_else(|| Arc::new(Reactor::here())),
            inline,
        };
        let started = Started { pool, present, end_source, cores, inline, ends, site };
        stop.leave_to_run();
        for (at, next) in rings.upgrades() {
            let change = next.change(started.ends.as_ref(), started.site.clone()).map_err(RunError::Upgrade)?;
            started.pool.shared.marks.plan_change(at, change);
        }
        if let Some(source) = &started.end_source {
            source.begin();
        }
        let failed = |error: std::io::Error| RunError::Spawn(error.to_string());
        match threads {
            Threads::Inline => {
                started.pool.run_by_caller();
                work(&started.pool, 0);
                started.pool.note_end();
            }
            Threads::Stepped(seed) => {
                step_by_seed(&started.pool, seed);
                started.pool.note_end();
            }
            Threads::Workers => {
                started.pool.start(workers).map_err(failed)?;
                started.pool.start_blocking().map_err(failed)?;
            }
        }
        if let Some(feed) = feed {
            feed(&started.pool).map_err(failed)?;
        }
        Ok(started)
    }
}

impl<A: RingLayout> Wired<Reader<A>> {
    /// Puts a sink after the output and starts the workers.
    pub(crate) fn start_into<R: RingRunner, K: Sink<A>>(
        self,
        rings: &Rings,
        sink: K,
    ) -> Result<Handle<K::Output, R>, RunError> {
        let Wired { mut run, output, fork } = self;
        let (left, splice) = (Left::nothing(), Splice::new());
        let wiring = &mut run.version.wiring;
        let sink = SinkTasklet::spliced(output, sink, wiring.batch, left.clone(), splice.clone());
        let sink = sink_tasklet(sink, wiring);
        wiring.end("sink", Role::Sink, sink);
        let started = run.start(rings, Some(Ends::new::<R, A>(fork, splice)))?;
        Ok(Handle { started, sink: left, runner: PhantomData })
    }
}
