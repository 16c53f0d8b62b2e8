//! A shadow takes the place of the running version.

use super::common::{AnyShadow, Common};
use super::keep::{Kept, may_be_kept};
use super::place::{Beside, named};
use crate::UpgradeError;
use crate::marks::{Change, Retired};
use crate::pool::Pool;
use crate::upgrade::shadow_end::ShadowEnd;
use crate::upgrade::shadow_state::ShadowState;
use crate::upgrade::{Answer, Successor, succeed};
use crate::watched::Role;
use millstream_core::{Item, SequenceNumber};
use millstream_ring::{Reader, RingLayout};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

pub(crate) struct CutOver<T: Item, A: RingLayout> {
    pub(super) common: Arc<Common<T, A>>,
    pub(super) answer: Answer,
    /// The number from which on it was tried, if this was planned then.
    pub(super) tried: Option<SequenceNumber>,
    /// The shadow that the version is which retires, if that goes on.
    pub(super) kept: Option<Arc<Common<T, A>>>,
    pub(super) laid: bool,
}

impl<T: Item, A: RingLayout> Common<T, A> {
    /// The change by which it takes the place of the running version, after it was `tried` from a number on, and after
    /// which that one is `kept`.
    pub(super) fn over(
        self: Arc<Self>,
        answer: Answer,
        tried: Option<SequenceNumber>,
        kept: Option<Arc<Self>>,
    ) -> Box<dyn Change> {
        Box::new(CutOver { common: self, answer, tried, kept, laid: false })
    }
}

impl<T: Item, A: RingLayout> AnyShadow for Common<T, A> {
    fn state(&self) -> &Arc<ShadowState> {
        &self.state
    }

    fn cut_over(self: Arc<Self>, answer: Answer) -> Box<dyn Change> {
        self.over(answer, None, None)
    }

    fn cut_over_keeping(self: Arc<Self>, answer: Answer) -> (Box<dyn Change>, Arc<dyn AnyShadow>) {
        let Common { site, fork, splice, agrees, .. } = &*self;
        let kept = Common::new(site.clone(), (fork.clone(), splice.clone()), agrees.clone(), None);
        (self.over(answer, None, Some(kept.clone())), kept)
    }
}

/// The shadow has its own reader of the source's ring.
impl<T: Item, A: RingLayout> Drop for CutOver<T, A> {
    fn drop(&mut self) {
        if self.laid {
            drop(self.common.fork.take());
        }
    }
}

impl<T: Item, A: RingLayout> CutOver<T, A> {
    /// Takes the shadow to which the run cuts over.
    fn take(&self, pool: &Pool) -> Result<(Beside, Reader<A>), UpgradeError> {
        let Common { state, place, left, .. } = &*self.common;
        let over = |end| Err(UpgradeError::Shadow(end));
        if let Some(end) = state.end() {
            return over(end);
        }
        if self.kept.is_some() {
            may_be_kept(&self.common, pool)?;
        }
        let beside = place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let output = left.lock().unwrap_or_else(PoisonError::into_inner).take();
        beside.zip(output).map_or_else(|| over(ShadowEnd::Dropped), Ok)
    }

    fn refuse(&self, at: SequenceNumber, error: UpgradeError) {
        let Common { site, reason, .. } = &*self.common;
        site.refuse(self.tried.unwrap_or(at), reason.clone(), error, &self.answer);
    }

    fn reason(&self) -> String {
        let said = self.common.reason.clone();
        let default = || match self.tried {
            Some(since) => format!("it ran beside the earlier version from number {since} on"),
            None => "it ran beside the earlier version, and its output agreed".to_owned(),
        };
        said.unwrap_or_else(default)
    }
}

impl<T: Item, A: RingLayout> Change for CutOver<T, A> {
    fn of_shadow(&self) -> bool {
        true
    }

    fn laid(&mut self, _at: SequenceNumber) -> Option<(SequenceNumber, Box<dyn Change>)> {
        self.laid = true;
        None
    }

    fn is_moot(&self) -> bool {
        self.tried.is_some() && self.common.state.end().is_some()
    }

    fn withdraw(self: Box<Self>) {
        let end = self.common.state.end().unwrap_or(ShadowEnd::Dropped);
        self.refuse(SequenceNumber(0), UpgradeError::Shadow(end));
    }

    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize> {
        let begun = Instant::now();
        let Common { site, splice, state, .. } = &*self.common;
        let pool = site.pool.upgrade()?;
        let at = retired.at;
        let (beside, output) = match self.take(&pool) {
            Ok(taken) => taken,
            Err(error) => {
                pool.go_on();
                self.refuse(at, error);
                return None;
            }
        };
        let kept = self.kept.as_ref().map(|_| Kept::of(&self.common, &pool, &output));
        let Beside { tasks, plan, ring_bytes, side_sinks, check, states, batch } = beside;
        splice.put(output);
        let stages = tasks.iter().filter(|(_, role)| matches!(role, Role::Stage(_)));
        let tasklets: Vec<_> = stages.filter_map(named).collect();
        site.present().shadow = None;
        pool.shared.marks.end_shadow(state, ShadowEnd::CutOver);
        let (states_moved, reason) = (states, Some(self.reason()));
        let successor = Successor { tasklets, plan, ring_bytes, side_sinks, check, states_moved, reason };
        let expected = succeed(site, &pool, successor, retired, begun);
        if let (Some(kept), Some(shadow)) = (kept, &self.kept) {
            kept.go_on(shadow, &pool, batch);
        }
        self.answer.give(Ok(at));
        pool.shared.wake();
        Some(expected)
    }
}
