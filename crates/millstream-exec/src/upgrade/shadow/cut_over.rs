//! A shadow takes the place of the running version.

use super::beside::{Beside, Place};
use super::compare::Left;
use crate::UpgradeError;
use crate::marks::{Change, Retired};
use crate::sink_tasklet::Splice;
use crate::source_ring::SourceFork;
use crate::task::Task;
use crate::upgrade::shadow_end::ShadowEnd;
use crate::upgrade::shadow_state::ShadowState;
use crate::upgrade::{Answer, Site, Successor, succeed};
use crate::watched::Role;
use crate::wiring::Named;
use millstream_core::Item;
use millstream_ring::RingLayout;
use std::sync::{Arc, PoisonError};
use std::time::Instant;

pub(crate) struct CutOver<T: Item, A: RingLayout> {
    pub(crate) site: Site,
    pub(crate) fork: Arc<SourceFork<T>>,
    pub(crate) splice: Arc<Splice<A>>,
    pub(crate) state: Arc<ShadowState>,
    pub(crate) left: Left<A>,
    pub(super) place: Place,
    pub(crate) answer: Answer,
    pub(crate) laid: bool,
}

/// The shadow has its own reader of the source's ring.
impl<T: Item, A: RingLayout> Drop for CutOver<T, A> {
    fn drop(&mut self) {
        if self.laid {
            drop(self.fork.take());
        }
    }
}

/// The tasklet of a task that goes on in another task, with its own role.
fn named((task, role): &(Arc<Task>, Role)) -> Option<Named> {
    let tasklet = task.leave()?;
    let Task { name, home, side_output, around, order, fused_into, keys, watched, .. } = &**task;
    let (name, fused_into, keys, calls) = (name.clone(), fused_into.clone(), keys.clone(), watched.calls.clone());
    let (role, order, home, side_output, around) = (*role, *order, *home, *side_output, *around);
    Some(Named { name, role, order, tasklet, home, side_output, around, fused_into, keys, calls })
}

impl<T: Item, A: RingLayout> Change for CutOver<T, A> {
    fn of_shadow(&self) -> bool {
        true
    }

    fn laid(&mut self) {
        self.laid = true;
    }

    fn carry_out(self: Box<Self>, retired: Retired) -> Option<usize> {
        let begun = Instant::now();
        let pool = self.site.pool.upgrade()?;
        let at = retired.at;
        let taken = || self.place.lock().unwrap_or_else(PoisonError::into_inner).take();
        let beside = if self.state.end().is_none() { taken() } else { None };
        let left = || self.left.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some((beside, output)) = beside.and_then(|beside| Some((beside, left()?))) else {
            pool.go_on();
            self.answer.give(Err(UpgradeError::Shadow(self.state.end().unwrap_or(ShadowEnd::Dropped))));
            pool.shared.wake();
            return None;
        };
        let Beside { tasks, plan, ring_bytes, side_sinks, check, states } = beside;
        self.splice.put(output);
        let stages = tasks.iter().filter(|(_, role)| matches!(role, Role::Stage(_)));
        let tasklets: Vec<_> = stages.filter_map(named).collect();
        self.site.present().shadow = None;
        self.state.finish(ShadowEnd::CutOver, &pool.shared.marks);
        let reason = Some("it has run beside the version before, and its output agreed".to_owned());
        let successor = Successor { tasklets, plan, ring_bytes, side_sinks, check, states_moved: states, reason };
        let expected = succeed(&self.site, &pool, successor, retired, begun);
        self.answer.give(Ok(at));
        pool.shared.wake();
        Some(expected)
    }
}
