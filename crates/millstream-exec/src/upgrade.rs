//! A run's pipeline is replaced at a number.
//!
//! At the mark of a [`Change`] the stages of the present version take nothing from its number on. When all have come
//! that far, the last of them wires the new version: its rings begin where the old stages ended, each on its own clock,
//! and the states of the old stages are moved into the new ones ([`hand_over`]). It reads the source's ring by a reader
//! that the source's end made when it laid the mark. Then the sink reads the new version's output, and the old stages
//! are dropped, without END. If the new version cannot begin, the old stages go on at the same number.
//!
//! So there is no gap, no number twice, and no run that has lost its pipeline. No stage of the new version begins
//! before all states are there: if a migration fails in the last stage, the first one is still at its number. The price
//! is that the first stage waits until the last one has come to the mark. Meanwhile the slowest stage works on the
//! values in its ring.

mod behind;
mod error;
mod hand_over;
mod planned;
mod report;
mod restore;
mod shadow;
pub(crate) mod shadow_end;
pub(crate) mod shadow_state;
mod spec;

pub(crate) use behind::Behind;
pub use error::{StateMismatch, UpgradeError};
pub(crate) use planned::Next;
pub use report::{ChangeReport, RefusedChange, StagePause};
pub(crate) use restore::restore;
pub(crate) use shadow::{Agrees, AnyShadow, Trial, related};
pub use shadow_end::ShadowEnd;
pub use spec::{IntoUpgrade, Upgrade};

use crate::explain::Feed;
use crate::external_source::ExternalSource;
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::{Change, Retired};
use crate::migrations::StateRules;
use crate::pool::Pool;
use crate::present::Present;
use crate::reactor::Reactor;
use crate::side_sinks::SideSinks;
use crate::sink_tasklet::Splice;
use crate::snapshot::Beginning;
use crate::source_ring::SourceFork;
use crate::start::{Planned, Version, deploy_version};
use crate::wiring::Named;
use crate::{RingShape, Rings, RunError, RunOutcome, Wiring};
use hand_over::{NotReady, OldTasklets, hand_over};
use millstream_core::failure::{caught, into_message};
use millstream_core::plan::UpgradeCheck;
use millstream_core::{Arrow, Deploy, Item, Plan, SequenceNumber, Val};
use millstream_ring::{Reader, RingLayout, RingProbe};
use std::any::{Any, TypeId, type_name};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Instant;

/// The two places in a run between which its pipeline is. Their types are those of the pipeline's ends, and are not
/// known where a handle is used.
#[derive(Clone)]
pub(crate) struct Ends {
    fork: AnyFork,
    splice: Arc<dyn Any + Send + Sync>,
    output: &'static str,
    /// The runner, which keeps the states.
    runner: TypeId,
}

/// A [`SourceFork`] of any type.
#[derive(Clone)]
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

/// The parts of a run that a new version needs to become a part of it.
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
}

impl Site {
    pub(crate) fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes that a change planned for this number is not carried out.
    pub(crate) fn refuse(&self, at: SequenceNumber, reason: Option<String>, error: UpgradeError, answer: &Answer) {
        self.report_refusal(Some(at), reason, &error);
        answer.give(Err(error));
        self.pool.upgrade().into_iter().for_each(|pool| pool.shared.wake());
    }

    pub(crate) fn report_refusal(&self, at: Option<SequenceNumber>, reason: Option<String>, error: &UpgradeError) {
        let refused = RefusedChange { at, reason, why: error.to_string() };
        self.pool.upgrade().into_iter().for_each(|pool| pool.shared.trace.refused(&refused));
        self.present().refuse(refused);
    }
}

/// A pipeline that takes the place of the present one.
struct Replacement<R, T: Item, P: Arrow<Out: RingLayout>> {
    next: Arc<P>,
    /// Made before the mark, where every stage would wait for it; none if it is refused, as it is again at the mark.
    planned: Option<Planned>,
    states: StateRules,
    runner: PhantomData<fn() -> R>,
    site: Site,
    fork: Arc<SourceFork<T>>,
    splice: Arc<Splice<P::Out>>,
    answer: Answer,
    /// The snapshot that it leaves at its number.
    behind: Option<Behind>,
    laid: bool,
}

/// The receiver of an upgrade's outcome.
#[derive(Clone)]
pub(crate) enum Answer {
    /// A thread that waits for it.
    Waits(Arc<Mutex<Option<Result<SequenceNumber, UpgradeError>>>>),
    /// No thread: an upgrade that fails is a failure of the run.
    FailsRun,
    /// No thread: an upgrade that fails is in the report.
    Reported,
}

impl Answer {
    pub(crate) fn give(&self, outcome: Result<SequenceNumber, UpgradeError>) {
        if let Answer::Waits(answer) = self {
            *answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        }
    }
}

/// A reader that was left for a version that never begins would keep the source's values.
impl<R, T: Item, P: Arrow<Out: RingLayout>> Drop for Replacement<R, T, P> {
    fn drop(&mut self) {
        if self.laid {
            drop(self.fork.take());
        }
    }
}

/// A new version that begins where the old one has retired, and its output.
fn wired<R: RingRunner, T: Item, P>(
    (next, planned): (&P, Option<Planned>),
    site: &Site,
    pool: &Pool,
    input: Reader<Val<T>>,
    retired: &Retired,
) -> Result<(Version, Reader<P::Out>), UpgradeError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    let beginning = Beginning::Clocks(retired.clocks.clone());
    let wired = caught(|| {
        let planned = planned.map_or_else(|| Planned::of_version::<R, P>(next, site), Ok)?;
        deploy_version::<R, T, P>(next, planned, site, pool, input, beginning)
    });
    let wired = wired.map_err(|payload| UpgradeError::Panicked(into_message(payload)))?;
    wired.map_err(|refused| UpgradeError::Refused(Box::new(refused)))
}

/// A new version that has the states of the old one, and is not part of the run yet.
struct Ready<A: RingLayout> {
    version: Version,
    output: Reader<A>,
    check: UpgradeCheck,
    states_moved: usize,
}

impl<R: RingRunner, T: Item, P> Replacement<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    /// Wires the new version and moves the states into it.
    fn ready(&mut self, pool: &Arc<Pool>, retired: &Retired) -> Result<Ready<P::Out>, NotReady> {
        let input = self.fork.take().expect("the mark has left a reader");
        input.forget_marks();
        let next = (&*self.next, self.planned.take());
        let (mut version, output) = wired::<R, T, P>(next, &self.site, pool, input, retired)?;
        let present = self.site.present().observer.clone();
        let check = judged(present.plan(), &version.wiring.plan, &self.states)?;
        match retired.output {
            Some(sink) if sink != output.position() => {
                return Err(UpgradeError::OtherNumber { sink, output: output.position() }.into());
            }
            _ => {}
        }
        let roster = pool.roster();
        let mut old = OldTasklets::of(&roster.tasks);
        let (tasklets, plan) = (&mut version.wiring.tasklets, &version.wiring.plan);
        let states_moved = hand_over(old.states(), tasklets, plan, &self.states)?;
        Ok(Ready { version, output, check, states_moved })
    }

    /// Makes the new version a part of the run. Returns how many tasklets pass marks from now on.
    fn begin(&self, pool: &Arc<Pool>, ready: Ready<P::Out>, retired: Retired, begun: Instant) -> usize {
        let Ready { version: Version { wiring, ring_bytes }, output, check, states_moved } = ready;
        self.splice.put(output);
        let Wiring { tasklets, plan, side_sinks, .. } = wiring;
        let reason = self.states.reason.clone();
        let successor = Successor { tasklets, plan, ring_bytes, side_sinks, check, states_moved, reason };
        succeed(&self.site, pool, successor, retired, begun)
    }
}

/// A version that takes the place of the present one; the sink's reader of its output is in its place.
pub(crate) struct Successor {
    pub(crate) tasklets: Vec<Named>,
    pub(crate) plan: Arc<Plan>,
    pub(crate) ring_bytes: usize,
    pub(crate) side_sinks: SideSinks,
    pub(crate) check: UpgradeCheck,
    pub(crate) states_moved: usize,
    pub(crate) reason: Option<String>,
}

/// Makes a version a part of the run, and writes the report of the change that began at `begun`. Returns how many
/// tasklets pass marks from now on.
pub(crate) fn succeed(site: &Site, pool: &Arc<Pool>, next: Successor, retired: Retired, begun: Instant) -> usize {
    let Successor { tasklets, plan, ring_bytes, side_sinks, check, states_moved, reason } = next;
    let budgets = (!site.inline).then(|| site.rings.budgets());
    let expected = pool.replace(tasklets, budgets, &plan);
    let now = Instant::now();
    let mut present = site.present();
    let shadow = present.shadow.take();
    let version = present.observer.version() + 1;
    present.ring_bytes = ring_bytes;
    let (over, go_on) = present.side_sinks.replace(side_sinks);
    let (pauses, switched_in) = (report::pauses(retired.since, now), now.duration_since(begun));
    let report = ChangeReport { version, at: retired.at, reason, stages: check, states_moved, pauses, switched_in };
    present.observer = present.observer.next(plan, report.clone());
    present.change(report.clone());
    drop(present);
    pool.shared.trace.upgraded(&report);
    // A version that ran beside the retired one was replaced with it.
    shadow.iter().for_each(|shadow| pool.shared.marks.end_shadow(shadow, ShadowEnd::Dropped));
    // Of a run that is changed again and again, the sinks would be too many.
    let mut outcome = RunOutcome::Drained;
    over.finish_each(&mut outcome).into_iter().for_each(|failure| pool.shared.fail_with(failure));
    if let Err(payload) = caught(|| drop(go_on)) {
        pool.shared.fail("tee_to", None, payload);
    }
    expected
}

/// The verdict on an upgrade, by the plans.
fn judged(old: &Plan, new: &Plan, states: &StateRules) -> Result<UpgradeCheck, UpgradeError> {
    let check = old.check_upgrade_by(new, &states.for_plans());
    if check.is_allowed() { Ok(check) } else { Err(UpgradeError::Check(Box::new(check))) }
}

impl<R: RingRunner, T: Item, P> Change for Replacement<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn laid(&mut self, at: SequenceNumber) -> Option<(SequenceNumber, Box<dyn Change>)> {
        self.laid = true;
        self.behind.as_ref().map(|behind| (at, behind.change()))
    }

    fn carry_out(mut self: Box<Self>, retired: Retired) -> Option<usize> {
        let begun = Instant::now();
        let pool = self.site.pool.upgrade()?;
        let at = retired.at;
        match self.ready(&pool, &retired) {
            Ok(ready) => {
                // The sink has everything of the old version, and the new one has taken nothing yet.
                let called = self.behind.as_mut().map_or(Ok(()), |behind| behind.begin(at));
                called.unwrap_or_else(|error| pool.shared.fail_with(RunError::Upgrade(error)));
                let expected = self.begin(&pool, ready, retired, begun);
                self.answer.give(Ok(at));
                pool.shared.wake();
                Some(expected)
            }
            // The old version does not go on in a run that has failed.
            Err(NotReady { error, old_goes_on }) if !old_goes_on || matches!(self.answer, Answer::FailsRun) => {
                self.behind.iter().for_each(Behind::refuse);
                self.answer.give(Err(error.clone()));
                pool.shared.fail_with(RunError::Upgrade(error));
                None
            }
            Err(NotReady { error, .. }) => {
                self.behind.iter().for_each(Behind::refuse);
                pool.go_on();
                self.site.refuse(at, self.states.reason.clone(), error, &self.answer);
                None
            }
        }
    }
}

type TypedEnds<T, A> = (Arc<SourceFork<T>>, Arc<Splice<A>>);

/// The run's ends, if they have these types.
fn typed<R: RingRunner, T: Item, A: RingLayout>(ends: Option<&Ends>) -> Result<TypedEnds<T, A>, UpgradeError> {
    let ends = ends.ok_or(UpgradeError::OutputTaken)?;
    if ends.runner != TypeId::of::<R>() {
        return Err(UpgradeError::OtherRunner);
    }
    match (ends.fork.fork.clone().downcast(), ends.splice.clone().downcast()) {
        (Ok(fork), Ok(splice)) => Ok((fork, splice)),
        _ => Err(UpgradeError::OtherEnds {
            run: [ends.fork.item, ends.output],
            next: [type_name::<T>(), type_name::<A>()],
        }),
    }
}

/// The change of a run to this pipeline, if the run's ends have its types; `trial` is how it is tried before.
pub(crate) fn change_to<R: RingRunner, T: Item, P>(
    (next, states): (Arc<P>, StateRules),
    trial: Option<Trial<P::Out>>,
    ends: Option<&Ends>,
    site: Site,
    (answer, behind): (Answer, Option<Behind>),
) -> Result<Box<dyn Change>, UpgradeError>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    if let (Some(_), Some(_)) = (&trial, &behind) {
        return Err(UpgradeError::NoShadow("an upgrade that leaves a snapshot cannot be tried".to_owned()));
    }
    if let Some(Trial { numbers, agrees }) = trial {
        let begins = shadow::beside::<R, T, P>((next, states), ends, &site, agrees, (Some(numbers), answer));
        return begins.map(|(begin, _)| begin);
    }
    let (fork, splice) = typed::<R, T, P::Out>(ends)?;
    let planned = caught(|| Planned::of_version::<R, P>(&next, &site)).ok().and_then(Result::ok);
    Ok(Box::new(Replacement {
        next,
        planned,
        states,
        runner: PhantomData::<fn() -> R>,
        site,
        fork,
        splice,
        answer,
        behind,
        laid: false,
    }))
}

impl<P: Arrow> Upgrade<P> {
    /// The change of a run that goes on. The plans are judged before anything is begun.
    pub(crate) fn of_run<R: RingRunner, T: Item>(
        self,
        ends: Option<&Ends>,
        site: Site,
        answer: (Answer, Option<Behind>),
    ) -> Result<Box<dyn Change>, UpgradeError>
    where
        P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
    {
        let Upgrade { next, states, trial } = self;
        let (plan, present) = (next.plan(), site.present().observer.clone());
        let change = change_to::<R, T, P>((next, states.clone()), trial, ends, site, answer)?;
        judged(present.plan(), &plan, &states)?;
        Ok(change)
    }
}
