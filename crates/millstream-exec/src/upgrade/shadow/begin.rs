//! A shadow begins.

use super::beside::{Edges, put_beside};
use super::common::Common;
use super::place::{Beside, may_have_shadow, may_run_twice};
use crate::keeps::{RingBackend, RingRunner};
use crate::marks::{Change, Retired};
use crate::migrations::StateRules;
use crate::pool::Pool;
use crate::start::Version;
use crate::upgrade::hand_over::{copies, hand_over};
use crate::upgrade::{Answer, judged, wired};
use crate::{RingShape, UpgradeError};
use millstream_core::{Arrow, Deploy, Item, SequenceNumber, Val};
use millstream_ring::{MarkKind, RingLayout};
use std::marker::PhantomData;
use std::sync::Arc;

/// A pipeline that will run beside the present one.
pub(crate) struct Begin<R, T: Item, P: Arrow<Out: RingLayout>> {
    pub(super) next: Arc<P>,
    pub(super) states: StateRules,
    pub(super) runner: PhantomData<fn() -> R>,
    pub(super) common: Arc<Common<T, P::Out>>,
    /// The number of numbers for which it runs beside it, if it then takes its place.
    pub(super) tried: Option<u64>,
    pub(super) answer: Answer,
    pub(super) laid: bool,
}

/// Readers that were left for a shadow that never begins would keep values.
impl<R, T: Item, P: Arrow<Out: RingLayout>> Drop for Begin<R, T, P> {
    fn drop(&mut self) {
        if self.laid {
            drop(self.common.fork.take());
            drop(self.common.splice.take_fork());
        }
    }
}

impl<R: RingRunner, T: Item, P> Begin<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>>,
{
    fn begin(&self, pool: &Arc<Pool>, retired: Retired) -> Result<(), UpgradeError> {
        let Common { site, fork, splice, .. } = &*self.common;
        let input = fork.take().expect("the mark has left a reader");
        let running = splice.take_fork().expect("the sink has left a reader");
        input.forget_marks();
        running.forget_marks();
        if site.present().shadow.as_ref().is_some_and(|other| other.end().is_none()) {
            return Err(UpgradeError::UnderWay);
        }
        let present = site.present().observer.clone();
        may_have_shadow(present.plan())?;
        let next = (&*self.next, None);
        let (Version { mut wiring, ring_bytes }, shadow) = wired::<R, T, P>(next, site, pool, input, &retired)?;
        let check = judged(present.plan(), &wiring.plan, &self.states)?;
        let writes = !wiring.side_sinks.is_empty() || wiring.tasklets.iter().any(|named| named.side_output);
        may_run_twice(writes, &wiring.plan)?;
        if running.position() != shadow.position() {
            return Err(UpgradeError::OtherNumber { sink: running.position(), output: shadow.position() });
        }
        let copies = copies(retired.states);
        let states = hand_over(copies, &mut wiring.tasklets, &wiring.plan, &self.states);
        let states = states.map_err(|why| UpgradeError::State(why.into()))?;
        let (order, batch) = (wiring.next_order(), wiring.batch);
        let (tasks, plan, side_sinks) = (Vec::new(), wiring.plan, wiring.side_sinks);
        let beside = Beside { tasks, plan, ring_bytes, side_sinks, check, states, batch };
        put_beside(&self.common, pool, (wiring.tasklets, order), beside, Edges { running, shadow });
        Ok(())
    }
}

impl<R: RingRunner, T: Item, P> Change for Begin<R, T, P>
where
    P: Deploy<RingBackend<R>> + Arrow<In = Val<T>, Out: RingShape<R>> + Send + Sync,
{
    fn kind(&self) -> MarkKind {
        MarkKind::Snapshot
    }

    fn laid(&mut self, at: SequenceNumber) -> Option<(SequenceNumber, Box<dyn Change>)> {
        self.laid = true;
        self.common.splice.want_fork();
        let until = at.0.saturating_add(self.tried?);
        Some((SequenceNumber(until), self.common.clone().over(self.answer.clone(), Some(at), None)))
    }

    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize> {
        let Common { site, state, reason, .. } = &*self.common;
        let pool = site.pool.upgrade()?;
        let (shared, at) = (&pool.shared, retired.at);
        match self.begin(&pool, retired) {
            Ok(()) => {
                shared.trace.shadow(at);
                if self.tried.is_none() {
                    self.answer.give(Ok(at));
                    shared.wake();
                }
            }
            Err(error) => {
                state.has_not_begun();
                shared.marks.drop_moot();
                site.refuse(at, reason.clone(), error, &self.answer);
            }
        }
        None
    }
}
