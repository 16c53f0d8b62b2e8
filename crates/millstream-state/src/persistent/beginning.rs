//! Where a run begins: the newest snapshot at which it can.

use super::changed::Changed;
use super::described::Described;
use super::{JobError, Persistent};
use crate::claims::{ClaimingSink, OpenError};
use crate::{Manifest, Saved, SnapshotEntry, StateDir, StateError};
use millstream_core::{Plan, SequenceNumber, Shape};
use millstream_exec::Snapshot;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::io;

impl Persistent {
    /// The newest snapshot whose claim the sink holds, and the sink, opened there; `None` if nothing was stored. A
    /// snapshot that is damaged is passed over, and so is one whose claim the sink does not hold. One that cannot be
    /// read although it may be whole is an error: without it the sink would lose what it got since an older one.
    pub(super) fn resume<A: Shape, K: ClaimingSink<A>>(
        &self,
        plan: &Plan,
        sink: &K,
        can_begin: &dyn Fn(&Value) -> io::Result<()>,
    ) -> Result<Option<(K::Open, Begins)>, JobError> {
        let redone = self.letters.as_ref().filter(|letters| self.redo && !letters.is_empty());
        if redone.is_some() && !(sink.goes_back() && self.side_sinks.iter().all(|sink| sink.goes_back())) {
            return Err(JobError::SinkStays);
        }
        let (mut lacks, mut later) = (None, false);
        let listed = self.dir.snapshots()?;
        let mut damaged = Vec::new();
        for listed in listed.into_iter().rev() {
            let manifest = match listed {
                SnapshotEntry::Whole(manifest) => manifest,
                SnapshotEntry::Unreadable { why: why @ StateError::Damaged { .. }, .. } => {
                    damaged.push(JobError::State(why));
                    continue;
                }
                SnapshotEntry::Unreadable { why, .. } => {
                    return Err(lacks.map_or(JobError::State(why), JobError::holds_less));
                }
            };
            let changed = match self.versions.changed_from(&manifest, plan) {
                Ok(changed) => changed,
                // The output is what is wrong: with all of it, the job would go on at a newer snapshot.
                Err(error) => return Err(lacks.map_or(error, JobError::holds_less)),
            };
            // Before the sink gives up what it got since.
            let begins = match Self::begins(&self.dir, &manifest) {
                Err(why @ (JobError::Corrupt { .. } | JobError::State(StateError::Damaged { .. }))) => {
                    damaged.push(why);
                    continue;
                }
                begins => begins?,
            };
            if let Some(letters) = redone {
                let numbers = begins.snapshot.as_ref().map(numbers_of).unwrap_or_default();
                if !letters.all_from(&numbers, manifest.at) {
                    later = true;
                    continue;
                }
            }
            if let Some((_, position)) = &begins.position
                && let Err(error) = can_begin(position)
            {
                return Err(lacks.map_or(JobError::Source(error), JobError::holds_less));
            }
            let next = SequenceNumber(manifest.output_at.unwrap_or(manifest.at));
            match self.open_sinks(sink, Some((next, &manifest))) {
                Ok(opened) => {
                    let lacks = lacks.map(JobError::holds_less);
                    let passed_over = lacks.iter().chain(&damaged).map(JobError::to_string).collect();
                    return Ok(Some((opened, Begins { changed, passed_over, ..begins })));
                }
                Err(OpenError::HoldsLess(why)) => _ = lacks.get_or_insert((next, why)),
                Err(error) => return Err(JobError::sink(error)),
            }
        }
        match (lacks, damaged.into_iter().next()) {
            (None, None) if later => Err(JobError::LettersTooOld),
            (Some(lacks), _) => Err(JobError::holds_less(lacks)),
            (None, Some(error)) => Err(error),
            (None, None) => Ok(None),
        }
    }

    /// The beginning of a run with a snapshot.
    pub(super) fn begins(dir: &StateDir, manifest: &Manifest) -> Result<Begins, JobError> {
        let (number, position) = (manifest.source["number"].as_u64(), &manifest.source["position"]);
        let position = number.map(|number| (number, position.clone()));
        let parts = dir.load(manifest)?;
        if parts.is_empty() {
            return Ok(Begins { at: manifest.at, position, id: Some(manifest.id), ..Begins::default() });
        }
        let snapshot = Snapshot::from_parts(parts.into_iter().map(|part| (part.name, part.bytes)));
        let snapshot = snapshot.map_err(|why| JobError::Corrupt { snapshot: manifest.id, why })?;
        Ok(Begins { snapshot: Some(snapshot), at: manifest.at, position, id: Some(manifest.id), ..Begins::default() })
    }

    /// Stores the sink's claim before the first number, and the source's position there, if it has one: a job that dies
    /// before its first snapshot, or ends before it, goes back to these, and not to another input.
    pub(super) fn begin(&self, plan: &Plan, claim: Value, first: Option<(u64, Value)>) -> Result<u64, JobError> {
        let Described { plan, fingerprint } = &Described::new(plan, self.job.clone());
        let source = first.map_or(Value::Null, |(number, position)| json!({ "number": number, "position": position }));
        let (plan, sink) = (plan.clone(), claim);
        let side_sinks = self.side_sinks.iter().map(|sink| Ok((sink.name().to_owned(), sink.claim()?)));
        let side_sinks = side_sinks.collect::<Result<_, _>>().map_err(JobError::Sink)?;
        let saved = Saved { output_at: Some(0), source, sink, side_sinks, plan, fingerprint, ..Saved::default() };
        Ok(self.dir.save(&saved)?.id)
    }
}

/// Where a run begins.
#[derive(Default)]
pub(super) struct Begins {
    pub(super) snapshot: Option<Snapshot>,
    pub(super) at: u64,
    /// A position of the source, and its number.
    pub(super) position: Option<(u64, Value)>,
    /// The id of the snapshot.
    pub(super) id: Option<u64>,
    /// The version that took it, if it is another one.
    pub(super) changed: Option<Changed>,
    /// Why it is not a newer one.
    pub(super) passed_over: Vec<String>,
}

/// The number of each stage and of each side sink at a snapshot. A name that the sink has as well is that of the stage,
/// which is in front of it: what is kept by name and number is a stage's, and the sink's number is the snapshot's
/// [`output_at`](Snapshot::output_at).
pub(super) fn numbers_of(snapshot: &Snapshot) -> Vec<(String, u64)> {
    let mut known = HashSet::new();
    let numbers = snapshot.numbers().filter(|(name, _)| known.insert(*name));
    numbers.map(|(name, number)| (name.to_owned(), number.0)).collect()
}
