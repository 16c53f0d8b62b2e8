//! Snapshots in parts, one for each stage with a state, and states as JSON.

use super::{CorruptSnapshot, Snapshot, SnapshotMismatch, States, increments};
use crate::kept::{Kept, WrittenLane};
use millstream_core::SequenceNumber;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The name of the part with the numbers. No stage can have it, since a name is not empty.
const RUN: &str = "";

/// The numbers of the run.
#[derive(Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) at: SequenceNumber,
    pub(super) output: Option<SequenceNumber>,
    pub(super) numbers: Vec<(String, SequenceNumber)>,
}

impl Snapshot {
    /// This snapshot as parts, each a name and bytes: first a part with the empty name, which holds the numbers, then a
    /// part for each stage with a state, in order. A part is equal to that of another snapshot if and only if the
    /// stage's states are written as the same bytes. Parts have no checksum: whatever stores them must add one.
    /// Otherwise as [`to_bytes`](Snapshot::to_bytes).
    ///
    /// ```
    /// use millstream::prelude::*;
    ///
    /// let sums = || pipeline::<u64>().scan(0, |sum, x| { *sum += x; *sum }).named("sum");
    /// let (sender, receiver) = source::channel(16);
    /// let run = Durable::new(Rings::new()).start(sums().from(receiver).to(sink::collect()))?;
    /// sender.send_all([1, 2, 3])?;
    /// let snapshot = run.snapshot().expect("the run goes on");
    /// drop((run, sender));
    ///
    /// assert_eq!(snapshot.json("sum")?, serde_json::json!([6]));
    /// let parts = snapshot.to_parts()?;
    /// assert_eq!(parts.iter().map(|(name, _)| &**name).collect::<Vec<_>>(), ["", "sum"]);
    /// let read = Snapshot::from_parts(parts)?;
    /// let rings = Durable::new(Rings::new().resume(read));
    /// assert_eq!(rings.collect(sums().from([4, 5]))?, [10, 15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a state cannot be written; the error names its stage.
    pub fn to_parts(&self) -> Result<Vec<(String, Vec<u8>)>, SnapshotMismatch> {
        let States { at, output, numbers, stages, .. } = &*self.0;
        let failed = |stage: &str, why: String| SnapshotMismatch { stage: stage.to_owned(), why };
        let encoded = |stage: &str, bytes: postcard::Result<Vec<u8>>| {
            let bytes = bytes.map_err(|error| failed(stage, format!("cannot be written: {error}")))?;
            Ok((stage.to_owned(), bytes))
        };
        let run = Run { at: *at, output: *output, numbers: numbers.clone() };
        let mut parts = vec![encoded(RUN, postcard::to_allocvec(&run))?];
        for (stage, lanes) in stages {
            let lanes: Result<Vec<WrittenLane>, String> = lanes.iter().map(Kept::write).collect();
            let lanes = lanes.map_err(|why| failed(stage, why))?;
            parts.push(encoded(stage, postcard::to_allocvec(&lanes))?);
        }
        Ok(parts)
    }

    /// The snapshot that has exactly these [parts](Snapshot::to_parts), in any order, or that was [stored
    /// as](Snapshot::to_parts_since) these. Its states are read when a run begins with it.
    ///
    /// # Errors
    ///
    /// If a part cannot be read or is there twice, or the part with the numbers is missing.
    pub fn from_parts(parts: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Self, CorruptSnapshot> {
        let parts: Vec<(String, Vec<u8>)> = parts.into_iter().collect();
        if !parts.iter().any(|(name, _)| name == RUN) {
            return increments::from_parts(parts);
        }
        let (mut run, mut stages) = (None, BTreeMap::new());
        for (name, bytes) in parts {
            let twice = if name == RUN {
                run.replace(read::<Run>("the numbers", &bytes)?).is_some()
            } else {
                let lanes = read::<Vec<WrittenLane>>(&name, &bytes)?;
                stages.insert(name.clone(), lanes.into_iter().map(Kept::from).collect()).is_some()
            };
            if twice {
                return Err(CorruptSnapshot::unreadable(format!("part {name:?} is there twice")));
            }
        }
        let lacks = || CorruptSnapshot::unreadable("the part with the numbers is missing".to_owned());
        let Run { at, output, numbers } = run.ok_or_else(lacks)?;
        Ok(Snapshot(Arc::new(States { mark: 0, at, output, numbers, stages, stop: Duration::ZERO })))
    }

    /// The states of a stage as JSON: a list with one for each of its lanes, null where a stage has none and starts a
    /// clock.
    ///
    /// # Errors
    ///
    /// If there is no such stage; if JSON cannot express its state, such as a map whose keys are not texts; or if the
    /// snapshot was [read](Snapshot::from_parts), since only a run that began with it knows the types.
    pub fn json(&self, stage: &str) -> Result<serde_json::Value, SnapshotMismatch> {
        let failed = |why: String| SnapshotMismatch { stage: stage.to_owned(), why };
        let lanes = self.0.stages.get(stage).ok_or_else(|| failed("has no state in the snapshot".to_owned()))?;
        lanes.iter().map(Kept::json).collect::<Result<_, _>>().map_err(failed)
    }
}

pub(super) fn read<'de, T: Deserialize<'de>>(name: &str, bytes: &'de [u8]) -> Result<T, CorruptSnapshot> {
    match postcard::take_from_bytes(bytes) {
        Ok((read, [])) => Ok(read),
        Ok((_, rest)) => Err(CorruptSnapshot::unreadable(format!("{} bytes follow part {name:?}", rest.len()))),
        Err(error) => Err(CorruptSnapshot::unreadable(format!("part {name:?}: {error}"))),
    }
}
