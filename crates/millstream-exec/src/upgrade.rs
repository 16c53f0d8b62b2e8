//! A run's pipeline is replaced at a number.
//!
//! At the mark of a [`Change`] the stages of the present version take nothing from its number on. When all have come
//! that far, the last of them wires the new version: its rings begin where the old stages ended, each on its own clock,
//! and its stages begin with the states of the old ones. It reads the source's ring by a reader that the source's end
//! made when it laid the mark. Then the sink reads the new version's output, and the old stages are dropped, without
//! END. If the new version cannot begin, the old stages go on at the same number.
//!
//! So there is no gap, no number twice, and no run that has lost its pipeline. The output pauses for as long as a
//! number takes through the pipeline, since the first stage waits until the last one has come to the mark, and for the
//! wiring. The stage that holds the run back works until then on what is in its ring.

mod error;

pub use error::UpgradeError;

use crate::explain::Feed;
use crate::external_source::ExternalSource;
use crate::handle::Present;
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::Change;
use crate::observer::Observer;
use crate::pool::Pool;
use crate::reactor::Reactor;
use crate::sink_tasklet::Splice;
use crate::snapshot::{Snapshot, SnapshotMismatch};
use crate::source_ring::SourceFork;
use crate::start::{Version, deploy_version};
use crate::{RingShape, Rings, RunError};
use millstream_core::failure::{caught, discard, message};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Val};
use millstream_ring::{Reader, RingLayout, RingProbe};
use std::any::{Any, TypeId, type_name};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

/// The two places in a run between which its pipeline is. Their types are those of the pipeline's ends, and are not
/// known where a handle is used.
pub(crate) struct Ends {
    fork: AnyFork,
    splice: Arc<dyn Any + Send + Sync>,
    output: &'static str,
    /// What keeps the states.
    runner: TypeId,
}

/// A [`SourceFork`] of any type.
pub(crate) struct AnyFork {
    fork: Arc<dyn Any + Send + Sync>,
    item: &'static str,
}

impl AnyFork {
    pub(crate) fn of<T: Item>(fork: Arc<SourceFork<T>>) -> Self {
        AnyFork { fork, item: type_name::<T>() }
    }
}

impl Ends {
    pub(crate) fn new<R: RingRunner, A: RingLayout>(fork: AnyFork, splice: Arc<Splice<A>>) -> Self {
        Ends { fork, splice, output: type_name::<A>(), runner: TypeId::of::<R>() }
    }
}

/// What a new version needs of the run that it becomes a part of.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) pool: Weak<Pool>,
    pub(crate) present: Arc<Mutex<Present>>,
    pub(crate) rings: Rings,
    pub(crate) feeding: Feed,
    pub(crate) source: RingProbe,
    pub(crate) end_source: Option<Weak<dyn ExternalSource>>,
    pub(crate) reactor: Arc<Reactor>,
    pub(crate) inline: bool,
    pub(crate) cores: usize,
    pub(crate) since: Instant,
}

/// A pipeline that takes the place of the present one.
struct Upgrade<R, T: Item, P: Arrow<Out: RingLayout>> {
    next: Arc<P>,
    runner: PhantomData<fn() -> R>,
    site: Site,
    fork: Arc<SourceFork<T>>,
    splice: Arc<Splice<P::Out>>,
    answer: Answer,
}

/// Who gets to know what became of an upgrade.
pub(crate) enum Answer {
    /// A thread that waits for it.
    Waits(Arc<Mutex<Option<Result<SequenceNumber, UpgradeError>>>>),
    /// No thread: an upgrade that fails is a failure of the run.
    FailsRun,
}

/// A reader that was left for a version that never begins would keep the source's values.
impl<R, T: Item, P: Arrow<Out: RingLayout>> Drop for Upgrade<R, T, P> {
    fn drop(&mut self) {
        drop(self.fork.take());
    }
}

impl<R: RingRunner, T: Item, P> Upgrade<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    /// Wires the new version. It is not part of the run yet.
    fn wired(&self, pool: &Arc<Pool>, snapshot: &Snapshot) -> Result<Wired<P::Out>, UpgradeError> {
        let input = self.fork.take().expect("the mark has left a reader");
        input.forget_marks();
        let version = caught(|| deploy_version::<R, T, P>(&*self.next, &self.site, pool, input, snapshot));
        match version {
            Ok(Ok(version)) => Ok(version),
            Ok(Err(refused)) => Err(UpgradeError::Refused(Box::new(refused))),
            Err(payload) => {
                let why = message(payload.as_ref());
                discard(payload);
                Err(UpgradeError::Panicked(why))
            }
        }
    }
}

type Wired<A> = (Version, Reader<A>);

impl<R: RingRunner, T: Item, P> Change for Upgrade<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn carry_out(self: Box<Self>, states: Result<Snapshot, SnapshotMismatch>) -> Option<usize> {
        let pool = self.site.pool.upgrade()?;
        let states = states.map_err(|lacks| UpgradeError::Refused(Box::new(RunError::Snapshot(lacks))));
        let wired = states.and_then(|states| Ok((states.at(), self.wired(&pool, &states)?)));
        let (outcome, expected) = match wired {
            Ok((at, (Version { wiring, ring_bytes }, output))) => {
                self.splice.put(output);
                let budgets = (!self.site.inline).then(|| self.site.rings.budgets());
                let expected = pool.replace(wiring.tasklets, budgets, &wiring.plan);
                let Site { present, source, cores, since, .. } = &self.site;
                let observer = Observer::new(pool.clone(), wiring.plan, source.clone(), *cores, *since);
                let mut present = present.lock().unwrap_or_else(PoisonError::into_inner);
                present.observer = observer;
                present.ring_bytes = ring_bytes;
                present.side_sinks.extend(wiring.side_sinks);
                (Ok(at), Some(expected))
            }
            // The old version does not go on in a run that has failed.
            Err(error) if matches!(self.answer, Answer::FailsRun) => {
                pool.shared.fail_with(RunError::Upgrade(error));
                return None;
            }
            Err(error) => {
                pool.go_on();
                (Err(error), None)
            }
        };
        if let Answer::Waits(answer) = &self.answer {
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
        pool.shared.wake();
        expected
    }
}

/// The change of a run to this pipeline, if the run's ends have its types.
pub(crate) fn change_to<R: RingRunner, T: Item, P>(
    next: Arc<P>,
    ends: Option<&Ends>,
    site: Site,
    answer: Answer,
) -> Result<Box<dyn Change>, UpgradeError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    let ends = ends.ok_or(UpgradeError::OutputTaken)?;
    if ends.runner != TypeId::of::<R>() {
        return Err(UpgradeError::OtherRunner);
    }
    let (Ok(fork), Ok(splice)) = (ends.fork.fork.clone().downcast(), ends.splice.clone().downcast()) else {
        return Err(UpgradeError::OtherEnds {
            run: [ends.fork.item, ends.output],
            next: [type_name::<T>(), type_name::<P::Out>()],
        });
    };
    Ok(Box::new(Upgrade { next, runner: PhantomData::<fn() -> R>, site, fork, splice, answer }))
}

/// A pipeline of any type, for an upgrade that is asked for before the run starts.
pub(crate) struct Next(Box<dyn AnyNext>);

trait AnyNext: Send + Sync {
    fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError>;
}

struct Typed<R, P>(Arc<P>, PhantomData<fn() -> R>);

impl<R: RingRunner, T: Item, P> AnyNext for Typed<R, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        change_to::<R, _, _>(self.0.clone(), ends, site, Answer::FailsRun)
    }
}

impl Next {
    pub(crate) fn new<R: RingRunner, T: Item, P>(next: P) -> Self
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        Next(Box::new(Typed(Arc::new(next), PhantomData::<fn() -> R>)))
    }

    /// The change of a run to this pipeline, if the run's ends have its types.
    pub(crate) fn change(&self, ends: Option<&Ends>, site: Site) -> Result<Box<dyn Change>, UpgradeError> {
        self.0.change(ends, site)
    }
}
