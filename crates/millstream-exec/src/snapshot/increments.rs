//! Snapshots in parts, some of which hold only the changes since an earlier snapshot.
//!
//! # The parts
//!
//! A part has a name of one of three kinds: `run:` has the numbers, `whole:STAGE` has all states of a stage, and
//! `changes-N:STAGE` has the changes in them since the part with the next lower N, or since the whole one. In a part of
//! changes each lane has a tag that says whether its state is there whole or as changes, and so has each table of a
//! state. This is format 2 of the parts; those of format 1 are the parts of [`Snapshot::to_parts`].

use super::parts::{Run, read};
use super::{CorruptSnapshot, Snapshot, SnapshotMismatch, States};
use crate::kept::{ChangedLane, Kept, LaneStamps, WrittenLane};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

const NUMBERS: &str = "run:";
const WHOLE: &str = "whole:";
const CHANGES: &str = "changes-";

/// The most parts of changes of one stage.
const LONGEST: usize = 7;

/// The largest share of the places of a stage's states that is written as changes, and the largest share of the bytes
/// of the whole part that its changes have together. They bound how much longer a start from a chain takes.
const SHARE: (usize, usize) = (1, 2);

/// The facts about a stored snapshot with which a later one can be stored as changes.
#[derive(Clone, Debug, Default)]
pub struct StoredParts {
    stages: BTreeMap<String, Chain>,
}

/// The parts of one stage.
#[derive(Clone, Debug)]
struct Chain {
    stamps: Vec<LaneStamps>,
    names: Vec<String>,
    whole: usize,
    changes: usize,
}

/// The parts of a snapshot, ready to be stored: see [`Snapshot::to_parts_since`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SnapshotParts {
    /// Names and bytes of the parts that must be written.
    pub written: Vec<(String, Vec<u8>)>,
    /// The names of parts of the earlier snapshot that belong to this one as well, as they are.
    pub kept: Vec<String>,
    /// For the next call of `to_parts_since`, once these parts are stored.
    pub stored: StoredParts,
}

impl Snapshot {
    /// This snapshot in parts, without those that are the same as in an earlier snapshot. States of keys are written as
    /// changes since the earlier snapshot, if those are less than half of them. A chain of changes is at most 7 long,
    /// and has at most half as many bytes as the part that it begins with.
    ///
    /// `earlier` is the [`stored`](SnapshotParts::stored) of the earlier snapshot; with the default, all parts are
    /// written. Parts have no checksum: whatever stores them must add one.
    ///
    /// ```
    /// use millstream::exec::StoredParts;
    /// use millstream::prelude::*;
    ///
    /// let counts = || {
    ///     let count = |p: millstream::core::pipe::Id<Val<u64>>| p.scan(0_u64, |n, _| { *n += 1; *n }).named("counts");
    ///     pipeline::<u64>().shard_by(|x| x % 100, 1, count).named("keys")
    /// };
    /// let (sender, receiver) = source::channel(256);
    /// let run = Durable::new(Rings::new()).start(counts().from(receiver).to(sink::collect()))?;
    /// sender.send_all(0..100)?;
    /// let first = run.snapshot().expect("the run goes on").to_parts_since(&StoredParts::default())?;
    /// sender.send_all([7, 7])?;
    /// let second = run.snapshot().expect("the run goes on").to_parts_since(&first.stored)?;
    /// drop((run, sender));
    ///
    /// let names = |parts: &[(String, Vec<u8>)]| parts.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    /// assert_eq!(names(&first.written), ["run:", "whole:counts", "whole:keys.key-1"]);
    /// assert_eq!(names(&second.written), ["run:", "changes-1:counts"]);
    /// assert_eq!(second.kept, ["whole:counts", "whole:keys.key-1"]);
    ///
    /// let kept = first.written.into_iter().filter(|(name, _)| second.kept.contains(name));
    /// let read = Snapshot::from_parts(kept.chain(second.written))?;
    /// let rings = Durable::new(Rings::new().resume(read));
    /// assert_eq!(rings.collect(counts().from([7, 8]))?, [4, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If a state cannot be written; the error names its stage.
    pub fn to_parts_since(&self, earlier: &StoredParts) -> Result<SnapshotParts, SnapshotMismatch> {
        let States { at, output, numbers, stages, .. } = &*self.0;
        let run = Run { at: *at, output: *output, numbers: numbers.clone() };
        let mut parts = SnapshotParts { written: Vec::new(), kept: Vec::new(), stored: StoredParts::default() };
        parts.written.push((NUMBERS.to_owned(), encoded(&run).map_err(|why| failed("source", why))?));
        for (stage, lanes) in stages {
            let chain = parts.stage(stage, lanes, earlier.stages.get(stage)).map_err(|why| failed(stage, why))?;
            parts.stored.stages.insert(stage.clone(), chain);
        }
        Ok(parts)
    }
}

impl SnapshotParts {
    /// Adds the parts of a stage.
    fn stage(&mut self, stage: &str, lanes: &[Kept], earlier: Option<&Chain>) -> Result<Chain, String> {
        let stamps = lanes.iter().map(Kept::stamps).collect();
        if let Some(earlier) = earlier.filter(|earlier| earlier.has_room(lanes)) {
            let changed: Result<Vec<ChangedLane>, String> =
                lanes.iter().zip(&earlier.stamps).map(|(lane, stamps)| lane.write_changes(stamps)).collect();
            let unchanged = earlier.changed(lanes).is_some_and(|(changed, _)| changed == 0);
            let bytes = if unchanged { Vec::new() } else { encoded(&changed?)? };
            if (earlier.changes + bytes.len()) * SHARE.1 <= earlier.whole * SHARE.0 {
                self.kept.extend(earlier.names.iter().cloned());
                let mut chain = Chain { stamps, changes: earlier.changes + bytes.len(), ..earlier.clone() };
                if !unchanged {
                    let name = format!("{CHANGES}{}:{stage}", chain.names.len());
                    chain.names.push(name.clone());
                    self.written.push((name, bytes));
                }
                return Ok(chain);
            }
        }
        let written: Result<Vec<WrittenLane>, String> = lanes.iter().map(Kept::write).collect();
        let (name, bytes) = (format!("{WHOLE}{stage}"), encoded(&written?)?);
        let chain = Chain { stamps, names: vec![name.clone()], whole: bytes.len(), changes: 0 };
        self.written.push((name, bytes));
        Ok(chain)
    }
}

impl Chain {
    /// How many places of the lanes' states may differ, and how many there are; none if a lane is to be written whole.
    fn changed(&self, lanes: &[Kept]) -> Option<(usize, usize)> {
        let changed = lanes.iter().zip(&self.stamps).map(|(lane, stamps)| lane.changed(stamps));
        let sum = |all: (usize, usize), lane: (usize, usize)| (all.0 + lane.0, all.1 + lane.1);
        changed.into_iter().try_fold((0, 0), |all, lane| lane.map(|lane| sum(all, lane)))
    }

    /// Whether changes may follow, and few places have changed. A state without places is written whole: nothing shows
    /// whether what it has beside them, such as the number of lanes, has changed.
    fn has_room(&self, lanes: &[Kept]) -> bool {
        let few = |(changed, all): (usize, usize)| all > 0 && changed * SHARE.1 <= all * SHARE.0;
        lanes.len() == self.stamps.len() && self.names.len() <= LONGEST && self.changed(lanes).is_some_and(few)
    }
}

/// The snapshot of parts of format 2.
pub(super) fn from_parts(parts: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Snapshot, CorruptSnapshot> {
    let mut run: Option<Run> = None;
    let mut stages = BTreeMap::<String, Vec<Kept>>::new();
    let mut changes = BTreeMap::<(String, usize), Vec<ChangedLane>>::new();
    for (name, bytes) in parts {
        let twice = if name == NUMBERS {
            run.replace(read(&name, &bytes)?).is_some()
        } else if let Some(stage) = name.strip_prefix(WHOLE) {
            let lanes: Vec<WrittenLane> = read(&name, &bytes)?;
            stages.insert(stage.to_owned(), lanes.into_iter().map(Kept::from).collect()).is_some()
        } else if let Some((nth, stage)) = changes_of(&name) {
            changes.insert((stage.to_owned(), nth), read(&name, &bytes)?).is_some()
        } else {
            return Err(CorruptSnapshot::unreadable(format!("part {name:?} is of an unknown kind")));
        };
        if twice {
            return Err(CorruptSnapshot::unreadable(format!("part {name:?} is there twice")));
        }
    }
    let mut applied = BTreeMap::<String, usize>::new();
    for ((stage, nth), changed) in changes {
        let unfit = |why: &str| CorruptSnapshot::unreadable(format!("part {CHANGES}{nth}:{stage} {why}"));
        let lanes = stages.get_mut(&stage).ok_or_else(|| unfit("has changes of a part that is missing"))?;
        let before = applied.entry(stage.clone()).or_default();
        *before += 1;
        if *before != nth || lanes.len() != changed.len() {
            return Err(unfit("does not follow the part before it"));
        }
        let each = lanes.iter_mut().zip(changed).try_for_each(|(lane, changed)| changed.apply(lane));
        each.map_err(|why| unfit(&why))?;
    }
    let lacks = || CorruptSnapshot::unreadable("the part with the numbers is missing".to_owned());
    let Run { at, output, numbers } = run.ok_or_else(lacks)?;
    Ok(Snapshot(Arc::new(States { mark: 0, at, output, numbers, stages, stop: Duration::ZERO })))
}

/// The place and the stage of a part of changes.
fn changes_of(name: &str) -> Option<(usize, &str)> {
    let (nth, stage) = name.strip_prefix(CHANGES)?.split_once(':')?;
    Some((nth.parse().ok()?, stage))
}

fn encoded(value: &impl serde::Serialize) -> Result<Vec<u8>, String> {
    postcard::to_allocvec(value).map_err(|error| format!("cannot be written: {error}"))
}

fn failed(stage: &str, why: String) -> SnapshotMismatch {
    SnapshotMismatch { stage: stage.to_owned(), why }
}
