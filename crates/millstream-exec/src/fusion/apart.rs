//! A loop over stages that have tasklets of their own.
//!
//! A run that chooses how many workers it has gives each stage a tasklet, so that workers can share them. While there
//! is one worker, the rings between are a detour, as they are where one worker was asked for. So the last tasklet has a
//! loop over all stages beside its own, and goes past all the rings with it. The stages keep their rings and states:
//! they go on where another worker is tried, a mark is due, or a ring is not idle. The state of the last stage, the
//! only one that can have one, is moved into the loop for a step, and back.
//!
//! A run begins with steps through the slots, and so does each trial of another worker: they show what each stage
//! costs. The loop keeps a second start state.

use super::ends::Lent;
use super::link::{Link, Pace};
use super::whole::{Last, Whole, claim_ends};
use crate::Wiring;
use crate::stage::Stage;
use crate::task_probe::TaskProbe;
use crate::tasklet::{AtMarks, Progress, Tasklet};
use crate::wiring::{Home, Named};
use millstream_core::fusion::RunEnds;
use millstream_core::{Density, Item, SequenceNumber, Val};
use millstream_ring::{Mark, RingLayout};
use std::mem::take;
use std::sync::Arc;

/// A stage past which a loop can go.
pub(super) struct Passer {
    pub(super) tasklet: Box<dyn Tasklet>,
    /// How many numbers have passed since its last step.
    pub(super) passed: usize,
}

/// The stages of a pipeline, the last of which has a loop over all of them. They are as they were, if `fused` is not
/// that loop.
pub(super) fn apart<A: RingLayout, S: Item + Clone, B: Item, D: Density, F, W: RunEnds<Val<B, D>>>(
    stages: Vec<Named>,
    fused: Stage<A, S, B, D, F>,
    wiring: &mut Wiring,
) -> Vec<Named>
where
    F: for<'a> FnMut(&mut S, SequenceNumber, Option<A::Ref<'a>>, bool) -> Option<B> + Send + 'static,
{
    let mut stages = stages;
    let are_its = wiring.tasklets.iter().all(|before| before.fused_into.is_some());
    let is_all = are_its && wiring.tasklets.len() + 1 == stages.len();
    let can = |named: &mut Named| named.home == Home::Workers && named.tasklet.in_loop().is_some();
    let keeps = |last: &mut Named| last.tasklet.in_loop().is_some_and(|parts| parts.state.is::<S>());
    if !is_all || !stages.iter_mut().all(can) || !stages.last_mut().is_some_and(keeps) {
        return stages;
    }
    let Some(ends) = claim_ends::<A, W, Val<B, D>>(wiring) else { return stages };
    let link = ends.2.clone();
    let of_last = wiring.take_calls();
    let calls = wiring.tasklets.iter().map(|named| named.calls.clone()).chain([of_last]);
    for (stage, calls) in stages.iter().zip(calls) {
        stage.calls.iter().zip(calls).for_each(|(stage, calls)| stage.count_also(calls));
    }
    let Some(mut last) = stages.pop() else { return stages };
    let lent = |mut named: Named| {
        let stage = Lent::of(Passer { tasklet: named.tasklet, passed: 0 });
        named.tasklet = Box::new(LentStage::new(stage.clone(), link.clone()));
        (named, stage)
    };
    let (mut stages, before): (Vec<_>, Vec<_>) = stages.into_iter().map(lent).unzip();
    let Stage { work, batch, failing, .. } = fused;
    let own = Last::Apart { stage: last.tasklet, work, batch, failing };
    last.tasklet = Box::new(Whole::<A, S, B, D, F, W>::new(before, own, ends, wiring));
    stages.push(last);
    if wiring.pace != Pace::Several {
        link.take();
    }
    stages
}

/// The tasklet of a stage past which a loop can go. It keeps no state.
struct LentStage {
    stage: Lent<Passer>,
    link: Arc<Link>,
    probe: TaskProbe,
}

impl LentStage {
    fn new(stage: Lent<Passer>, link: Arc<Link>) -> Self {
        let probe = stage.lock().as_ref().map(|passer| passer.tasklet.probe()).unwrap_or_default();
        LentStage { stage, link, probe }
    }
}

impl Tasklet for LentStage {
    fn step(&mut self) -> Progress {
        let Some(mut lent) = self.stage.try_lock() else { return Progress::NONE };
        let Some(Passer { tasklet, passed }) = lent.as_mut() else { return Progress::DONE };
        let (elsewhere, progress) = (take(passed), tasklet.step());
        drop(lent);
        Progress { elsewhere, worked: progress.worked | self.link.is_awaited(), ..progress }
    }

    fn at_marks(&mut self) -> Option<&mut dyn AtMarks> {
        Some(self)
    }

    fn passed_elsewhere(&mut self) -> usize {
        self.stage.lock().as_mut().map_or(0, |passer| take(&mut passer.passed))
    }

    fn failed_at(&self) -> Option<u64> {
        self.stage.try_lock()?.as_ref()?.tasklet.failed_at()
    }

    fn backlog(&self) -> u64 {
        self.stage.try_lock().and_then(|stage| Some(stage.as_ref()?.tasklet.backlog())).unwrap_or(0)
    }

    fn probe(&self) -> TaskProbe {
        self.probe.clone()
    }
}

impl AtMarks for LentStage {
    fn pass(&mut self) -> Option<Mark> {
        self.stage.try_lock()?.as_mut()?.tasklet.at_marks()?.pass()
    }

    fn resume(&mut self) {
        let mut stage = self.stage.lock();
        stage.iter_mut().filter_map(|passer| passer.tasklet.at_marks()).for_each(AtMarks::resume);
    }
}

impl Drop for LentStage {
    fn drop(&mut self) {
        self.stage.give_up();
    }
}
