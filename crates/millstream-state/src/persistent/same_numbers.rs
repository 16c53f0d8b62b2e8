//! What a job keeps by number, and how far that says that values have passed.

use super::Persistent;
use super::by_number::{ByNumber, is_of_source, is_side_of_source, recording_stages};
use crate::claims::{ClaimingSink, Claims};
use millstream_core::{Plan, SequenceNumber, Shape};

impl Persistent {
    /// What keeps something by number, if the source repeats its values or not.
    pub(super) fn by_number<A: Shape, K: ClaimingSink<A>>(&self, sink: &K, repeats: bool) -> ByNumber {
        let side_sinks = self.side_sinks.iter().filter(|sink| sink.skips());
        let side_sinks = side_sinks.map(|sink| sink.name().to_owned()).collect();
        ByNumber::of(repeats, sink.skips(), side_sinks, self.effects.clone())
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
