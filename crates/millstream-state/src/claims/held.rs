//! What the sinks of a job hold at a snapshot.

use super::Claimed;
use crate::Manifest;
use millstream_core::SequenceNumber;
use millstream_exec::Snapshot;
use serde_json::Value;
use std::collections::BTreeMap;

/// The claims of a job's sinks before the number of a snapshot.
pub(crate) struct Held {
    pub(crate) sink: Value,
    /// Those of side sinks, by name.
    pub(crate) side_sinks: BTreeMap<String, Value>,
}

/// The claims that the sinks of a job have made.
#[derive(Default)]
pub(crate) struct AllClaimed {
    pub(crate) sink: Claimed,
    pub(crate) side_sinks: Vec<(String, Claimed)>,
}

impl AllClaimed {
    /// The claims at a snapshot; `None` if one was forgotten.
    pub(crate) fn at(&self, snapshot: &Snapshot) -> Option<Held> {
        let sink = self.sink.at(output_of(snapshot))?;
        let side_sinks =
            self.side_sinks_at(snapshot).map(|(name, claimed, next)| Some((name.clone(), claimed.at(next)?)));
        Some(Held { sink, side_sinks: side_sinks.collect::<Option<_>>()? })
    }

    /// Forgets the claims before those of this snapshot: no later one will have them.
    pub(crate) fn forget_before(&self, snapshot: &Snapshot) {
        self.sink.forget_before(output_of(snapshot));
        self.side_sinks_at(snapshot).for_each(|(_, claimed, next)| claimed.forget_before(next));
    }

    /// Sets whether no claim is forgotten for further ones.
    pub(crate) fn keep_all(&self, keeps_all: bool) {
        self.sink.keep_all(keeps_all);
        self.side_sinks.iter().for_each(|(_, claimed)| claimed.keep_all(keeps_all));
    }

    /// No run begins before this snapshot any more.
    pub(crate) fn begin_at(&self, oldest: &Manifest) {
        self.sink.begin_at(&oldest.sink);
        for (name, claimed) in &self.side_sinks {
            oldest.side_sinks.get(name).into_iter().for_each(|claim| claimed.begin_at(claim));
        }
    }

    /// The side sinks that this version of the pipeline has, and the number that comes next for each.
    fn side_sinks_at(&self, snapshot: &Snapshot) -> impl Iterator<Item = (&String, &Claimed, SequenceNumber)> {
        let number = |name: &str| snapshot.numbers().find(|(stage, _)| *stage == name).map(|(_, next)| next);
        self.side_sinks.iter().filter_map(move |(name, claimed)| Some((name, claimed, number(name)?)))
    }
}

/// The number that the sink gets next.
pub(crate) fn output_of(snapshot: &Snapshot) -> SequenceNumber {
    snapshot.output_at().unwrap_or(snapshot.at())
}
