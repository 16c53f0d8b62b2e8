//! Sinks and effects that keep what they have by its number, and what that asks of the source.

use super::{JobError, Persistent};
use crate::claims::{ClaimingSink, Claims};
use crate::effects::Effects;
use millstream_core::plan::Stage;
use millstream_core::{Plan, SequenceNumber, Shape};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

/// What a job keeps by number, and whether a number stands for the same value after a restart. Each version of the
/// pipeline is judged by it.
#[derive(Default)]
pub(super) struct ByNumber {
    repeats: bool,
    sink_skips: bool,
    /// The side sinks that skip numbers that they have.
    side_sinks: Vec<String>,
    effects: Vec<Effects>,
    /// The effects that had a stage of their name in some version.
    placed: Mutex<HashSet<Arc<str>>>,
}

impl ByNumber {
    /// Refuses a source that may have other values at the same numbers after a restart, where a number stands for a
    /// value that is there: the new value would be lost. Behind a stage that renumbers, as `lines` does, numbers are
    /// the pipeline's own. An effect whose stage is not known is refused, too.
    pub(super) fn check(&self, plan: &Plan) -> Result<(), JobError> {
        if self.repeats {
            return Ok(());
        }
        let refused = |what: String| Err(JobError::OtherNumbers { what });
        if self.sink_skips && is_of_source(plan, &plan.output) {
            return refused("the sink skips numbers that it has".to_owned());
        }
        if let Some(sink) = self.side_sinks.iter().find(|sink| is_side_of_source(plan, sink)) {
            return refused(format!("the side sink {sink:?} skips numbers that it has"));
        }
        if let Some(stage) = recording_stages(plan, &self.effects).next() {
            return refused(format!("the effect {stage:?} has its answers by number"));
        }
        match self.at_no_stage(plan) {
            Some(name) => refused(format!(
                "the effect {name:?} has its answers by number, it is not known whose, since no stage has its name \
                 (`.named({name:?})`)"
            )),
            None => Ok(()),
        }
    }

    /// An effect that may be at a stage of another name. It may also be one of another version, if each stage that may
    /// be an effect's has the name of one, or if the effect had a stage of its name before.
    fn at_no_stage(&self, plan: &Plan) -> Option<Arc<str>> {
        let mut placed = self.placed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_there = |name: &Arc<str>| plan.stages.iter().any(|stage| *stage.name == **name);
        let names = || self.effects.iter().flat_map(Effects::names);
        placed.extend(names().filter(is_there));
        let has_name = |stage: &Stage| self.effects.iter().any(|of| of.has(&stage.name));
        let may_be_one = |stage: &Stage| (stage.blocking || stage.kind == "map_async") && !has_name(stage);
        names().filter(|name| plan.stages.iter().any(may_be_one) && !placed.contains(name)).min()
    }
}

impl Persistent {
    /// What keeps something by number, if the source repeats its values or not.
    pub(super) fn by_number<A: Shape, K: ClaimingSink<A>>(&self, sink: &K, repeats: bool) -> ByNumber {
        let side_sinks = self.side_sinks.iter().filter(|sink| sink.skips());
        ByNumber {
            repeats,
            sink_skips: sink.skips(),
            side_sinks: side_sinks.map(|sink| sink.name().to_owned()).collect(),
            effects: self.effects.clone(),
            placed: Mutex::default(),
        }
    }

    /// The number of the source below which all values are known to have passed: the sinks or effects that keep
    /// numbers have what came of them.
    pub(super) fn passed<O: Claims>(&self, plan: &Plan, sink: &O) -> u64 {
        let main = sink.holds().filter(|_| is_of_source(plan, &plan.output));
        let side = self.side_sinks.iter().filter(|sink| is_side_of_source(plan, sink.name()));
        let side = side.filter_map(|sink| sink.holds());
        let effects = recording_stages(plan, &self.effects);
        let effects = effects.filter_map(|stage| self.effects.iter().filter_map(|of| of.last(stage)).max());
        let passed = main.into_iter().chain(side).map(|SequenceNumber(next)| next);
        passed.chain(effects.map(|last| last + 1)).max().unwrap_or(0)
    }
}

/// The stages that have the source's numbers, and an effect's name.
fn recording_stages<'p>(plan: &'p Plan, effects: &[Effects]) -> impl Iterator<Item = &'p str> {
    let stages = plan.stages.iter().filter(|stage| is_of_source(plan, &stage.reads));
    stages.map(|stage| &*stage.name).filter(|stage| effects.iter().any(|of| of.has(stage)))
}

/// Whether these rings have the numbers of the source.
fn is_of_source(plan: &Plan, rings: &[usize]) -> bool {
    rings.iter().all(|ring| plan.rings.get(*ring).is_some_and(|ring| ring.clock == 0))
}

fn is_side_of_source(plan: &Plan, name: &str) -> bool {
    plan.side_sinks.iter().any(|sink| sink.name == name && is_of_source(plan, &sink.reads))
}
