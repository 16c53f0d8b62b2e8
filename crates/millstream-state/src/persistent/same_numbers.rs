//! Sinks and effects that keep what they have by its number, and what that asks of the source.

use super::{JobError, Persistent};
use crate::claims::{ClaimingSink, Claims};
use crate::effects::Effects;
use millstream_core::{Plan, SequenceNumber, Shape};
use std::sync::Arc;

impl Persistent {
    /// Refuses a source that may have other values at the same numbers after a restart, where a number stands for a
    /// value that is there: the new value would be lost. Behind a stage that renumbers, as `lines` does, numbers are
    /// the pipeline's own. An effect whose stage is not known is refused, too.
    pub(super) fn check_numbers<A: Shape, K: ClaimingSink<A>>(
        &self,
        plan: &Plan,
        sink: &K,
        repeats: bool,
    ) -> Result<(), JobError> {
        if repeats {
            return Ok(());
        }
        let refused = |what: String| Err(JobError::OtherNumbers { what });
        if sink.skips() && is_of_source(plan, &plan.output) {
            return refused("the sink skips numbers that it has".to_owned());
        }
        let mut side_sinks = self.side_sinks.iter().filter(|sink| sink.skips());
        if let Some(sink) = side_sinks.find(|sink| is_side_of_source(plan, sink.name())) {
            return refused(format!("the side sink {:?} skips numbers that it has", sink.name()));
        }
        if let Some(stage) = self.recording_stages(plan).next() {
            return refused(format!("the effect {stage:?} has its answers by number"));
        }
        let is_at_none = |name: &Arc<str>| !plan.stages.iter().any(|stage| *stage.name == **name);
        match self.effects.iter().flat_map(Effects::names).filter(is_at_none).min() {
            Some(name) => refused(format!(
                "the effect {name:?} has its answers by number, it is not known whose, since no stage has its name \
                 (`.named({name:?})`)"
            )),
            None => Ok(()),
        }
    }

    /// The number of the source below which all values are known to have passed: the sinks or effects that keep
    /// numbers have what came of them.
    pub(super) fn passed<O: Claims>(&self, plan: &Plan, sink: &O) -> u64 {
        let main = sink.holds().filter(|_| is_of_source(plan, &plan.output));
        let side = self.side_sinks.iter().filter(|sink| is_side_of_source(plan, sink.name()));
        let side = side.filter_map(|sink| sink.holds());
        let effects = self.recording_stages(plan);
        let effects = effects.filter_map(|stage| self.effects.iter().filter_map(|of| of.last(stage)).max());
        let passed = main.into_iter().chain(side).map(|SequenceNumber(next)| next);
        passed.chain(effects.map(|last| last + 1)).max().unwrap_or(0)
    }

    /// The stages that have the source's numbers, and an effect's name.
    fn recording_stages<'p>(&self, plan: &'p Plan) -> impl Iterator<Item = &'p str> {
        let stages = plan.stages.iter().filter(|stage| is_of_source(plan, &stage.reads));
        stages.map(|stage| &*stage.name).filter(|stage| self.effects.iter().any(|of| of.has(stage)))
    }
}

/// Whether these rings have the numbers of the source.
fn is_of_source(plan: &Plan, rings: &[usize]) -> bool {
    rings.iter().all(|ring| plan.rings.get(*ring).is_some_and(|ring| ring.clock == 0))
}

fn is_side_of_source(plan: &Plan, name: &str) -> bool {
    plan.side_sinks.iter().any(|sink| sink.name == name && is_of_source(plan, &sink.reads))
}
