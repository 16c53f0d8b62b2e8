//! A shadow begins.

use super::Agrees;
use super::beside::{Beside, Place};
use super::compare::Comparer;
use super::compare::Left;
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::{Change, Retired};
use crate::migrations::StateRules;
use crate::pool::Pool;
use crate::sink_tasklet::Splice;
use crate::snapshot::Beginning;
use crate::source_ring::SourceFork;
use crate::start::{Version, deploy_version};
use crate::upgrade::hand_over::{copies, hand_over};
use crate::upgrade::shadow_state::ShadowState;
use crate::upgrade::{Answer, Site, judged};
use crate::watched::Role;
use crate::wiring::{Named, Wiring};
use crate::{RingShape, UpgradeError};
use millstream_core::failure::{caught, into_message};
use millstream_core::{Arrow, Deploy, Item, Val};
use millstream_ring::{MarkKind, Reader, RingLayout};
use std::marker::PhantomData;
use std::sync::{Arc, PoisonError};

/// A pipeline that is to run beside the present one.
pub(crate) struct Begin<R, T: Item, P: Arrow<Out: RingLayout>> {
    pub(crate) next: Arc<P>,
    pub(crate) states: StateRules,
    pub(crate) runner: PhantomData<fn() -> R>,
    pub(crate) site: Site,
    pub(crate) fork: Arc<SourceFork<T>>,
    pub(crate) splice: Arc<Splice<P::Out>>,
    pub(crate) agrees: Arc<Agrees<P::Out>>,
    pub(crate) state: Arc<ShadowState>,
    pub(crate) left: Left<P::Out>,
    pub(super) place: Place,
    pub(crate) answer: Answer,
    pub(crate) laid: bool,
}

/// Readers that were left for a shadow that never begins would keep values.
impl<R, T: Item, P: Arrow<Out: RingLayout>> Drop for Begin<R, T, P> {
    fn drop(&mut self) {
        if self.laid {
            drop(self.fork.take());
            drop(self.splice.take_fork());
        }
    }
}

impl<R: RingRunner, T: Item, P> Begin<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    fn begin(&self, pool: &Arc<Pool>, retired: Retired) -> Result<(), UpgradeError> {
        let input = self.fork.take().expect("the mark has left a reader");
        let running = self.splice.take_fork().expect("the sink has left a reader");
        input.forget_marks();
        running.forget_marks();
        let beginning = Beginning::Clocks(retired.clocks.clone());
        let wired = caught(|| deploy_version::<R, T, P>(&*self.next, &self.site, pool, input, beginning));
        let wired = wired.map_err(|payload| UpgradeError::Panicked(into_message(payload)))?;
        let (Version { mut wiring, ring_bytes }, shadow) =
            wired.map_err(|refused| UpgradeError::Refused(Box::new(refused)))?;
        let check = judged(self.site.present().observer.plan(), &wiring.plan, &self.states)?;
        may_run_twice(&wiring)?;
        if running.position() != shadow.position() {
            return Err(UpgradeError::OtherNumber { sink: running.position(), output: shadow.position() });
        }
        let copies = copies(retired.states);
        let states =
            hand_over(copies, &mut wiring.tasklets, &wiring.plan, &self.states).map_err(UpgradeError::State)?;
        let comparer = self.comparer(pool, &wiring, running, shadow);
        let order = wiring.next_order();
        wiring.tasklets.push(Named::apart("compare".to_owned(), Role::Sink, order, Box::new(comparer)));
        let budgets = (!self.site.inline).then(|| self.site.rings.budgets());
        let tasks = pool.add_beside(wiring.tasklets, budgets, &wiring.plan, &self.state);
        let (plan, side_sinks) = (wiring.plan, wiring.side_sinks);
        let beside = Beside { tasks, plan, ring_bytes, side_sinks, check, states };
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = Some(beside);
        self.site.present().shadow = Some(self.state.clone());
        Ok(())
    }

    fn comparer(
        &self,
        pool: &Pool,
        wiring: &Wiring,
        running: Reader<P::Out>,
        shadow: Reader<P::Out>,
    ) -> Comparer<P::Out> {
        let last = wiring.plan.output.first().and_then(|ring| wiring.plan.rings[*ring].writer);
        Comparer {
            running: running.stops_at_marks(),
            shadow: Some(shadow.stops_at_marks()),
            agrees: self.agrees.clone(),
            state: self.state.clone(),
            shared: pool.shared.clone(),
            stage: last.map_or_else(|| "source".to_owned(), |stage| wiring.plan.stages[stage].name.clone()),
            left: self.left.clone(),
            batch: wiring.batch,
        }
    }
}

/// Refuses what a shadow would do a second time.
fn may_run_twice(wiring: &Wiring) -> Result<(), UpgradeError> {
    let refused = |why: &str| Err(UpgradeError::NoShadow(why.to_owned()));
    if !wiring.side_sinks.is_empty() || wiring.tasklets.iter().any(|named| named.side_output) {
        return refused("its side outputs would be written twice");
    }
    if wiring.plan.stages.iter().any(|stage| stage.serial || matches!(&*stage.kind, "take" | "take_while")) {
        return refused("a `feedback`, or a `take` that ends the stream, cannot run beside another version");
    }
    Ok(())
}

impl<R: RingRunner, T: Item, P> Change for Begin<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn kind(&self) -> MarkKind {
        MarkKind::Snapshot
    }

    fn laid(&mut self) {
        self.laid = true;
        self.splice.want_fork();
    }

    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize> {
        let pool = self.site.pool.upgrade()?;
        let at = retired.at;
        let begun = self.begin(&pool, retired).map(|()| at);
        self.answer.give(begun);
        pool.shared.wake();
        None
    }
}
