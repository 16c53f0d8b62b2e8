//! The changes from one plan to another.

mod show;

use super::{Plan, SideSink, Stage, StateInfo};
use std::collections::BTreeMap;

/// The difference of two plans: which stages are kept, changed, new and dropped.
///
/// A stage of the old plan and one of the new plan are the same stage if
///
/// 1. the user gave both the same name; or else
/// 2. their names are the same: the user named the combinator around them, or nothing; or else
/// 3. their [paths](Stage::path) are the same, and the user named at most one of them.
///
/// So a name is an identity that survives any other change of the pipeline, and a derived one survives changes
/// elsewhere. The sinks of `tee_to` are the same if their names are. The text is for people; with the feature `serde` a
/// difference is written and read, as a plan is.
///
/// ```
/// use millstream::prelude::*;
/// let before = pipeline::<u64>().map(|x| x + 1).scan(0_u32, |n, _| { *n += 1; *n }).named("count");
/// let after = pipeline::<u64>().map(|x| x + 1).dedup().scan(0_u64, |n, _| { *n += 1; *n }).named("count");
/// assert_eq!(before.plan().diff(&after.plan()).to_string(), "\
/// kept     map-1
/// new      dedup-1 (dedup), with a state
/// changed  count
///            reads: map-1 -> map-1, dedup-1
///            state: u32 version 1 -> u64 version 1
///            bytes of a slot: 4 -> 16
/// 1 kept, 1 changed, 1 new, 0 dropped
/// ");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlanDiff {
    /// The stages of the new plan, in pipeline order, and then the dropped ones, in the order of the old plan.
    pub stages: Vec<StageDiff>,
    /// The sinks of `tee_to` that are new, read other stages, or are dropped; the dropped ones last.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub side_sinks: Vec<SinkDiff>,
    /// The stages from which the pipeline's output is read, if they changed.
    pub output: Option<EdgeDiff>,
}

/// The difference of one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct StageDiff {
    /// The stage's name in the new plan; for a dropped stage, in the old one.
    pub name: String,
    /// The combinator that makes the stage; for a dropped stage, that made it.
    pub kind: String,
    /// The state that it keeps, or kept before it was dropped.
    pub state: Option<StateInfo>,
    /// The change of the stage.
    pub fate: Fate,
}

/// The difference of a sink of `tee_to`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SinkDiff {
    /// Its name.
    pub name: String,
    /// The change: of what it reads, if both plans have it.
    pub fate: Fate,
}

/// A change of a stage, or of a sink of `tee_to`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Fate {
    /// Both plans have it, and nothing of it changed.
    Kept,
    /// Both plans have it, with these changes.
    Changed(Vec<Change>),
    /// Only the new plan has it.
    New,
    /// Only the old plan has it.
    Dropped,
}

/// A change of a stage's property: the value before, and the value now.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "change", rename_all = "kebab-case")
)]
#[expect(missing_docs, reason = "`before` and `after` are the values in the two plans")]
pub enum Change {
    /// The name. The user set it in one plan at most, or the stage is in a combinator whose name changed.
    Name { before: String, after: String },
    /// The combinator.
    Kind { before: String, after: String },
    /// The edges that it reads, by the names of the stages that write them.
    Reads(EdgeDiff),
    /// The type of its state, or the version.
    State { before: Option<StateInfo>, after: Option<StateInfo> },
    /// The number of tasklets.
    Tasklets { before: usize, after: usize },
    /// The most keys at once.
    Keys { before: Option<usize>, after: Option<usize> },
    /// The bytes of a slot of its output.
    SlotBytes { before: usize, after: usize },
}

/// The names of the stages that write the edges that are read, in each plan by its own names. `source` is the source,
/// and `outside` a ring that code outside the pipeline fills.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[expect(missing_docs, reason = "the names say it")]
pub struct EdgeDiff {
    pub before: Vec<String>,
    pub after: Vec<String>,
}

impl Plan {
    /// The changes from this plan to `new`.
    #[must_use]
    pub fn diff(&self, new: &Plan) -> PlanDiff {
        let pairs = Pairs::of(self, new);
        let mut stages = Vec::with_capacity(new.stages.len());
        for (after, stage) in new.stages.iter().enumerate() {
            let fate = match pairs.old_of[after] {
                None => Fate::New,
                Some(before) => match pairs.changes(&self.stages[before], stage) {
                    changes if changes.is_empty() => Fate::Kept,
                    changes => Fate::Changed(changes),
                },
            };
            stages.push(StageDiff::of(stage, fate));
        }
        let dropped = self.stages.iter().zip(&pairs.new_of).filter(|(_, new)| new.is_none());
        stages.extend(dropped.map(|(stage, _)| StageDiff::of(stage, Fate::Dropped)));
        PlanDiff { stages, side_sinks: pairs.sinks(), output: pairs.edges(&self.output, &new.output) }
    }
}

impl PlanDiff {
    /// Whether nothing changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let same = self.output.is_none() && self.side_sinks.is_empty();
        same && self.stages.iter().all(|stage| stage.fate == Fate::Kept)
    }

    /// The stages that both plans have, with nothing changed.
    pub fn kept(&self) -> impl Iterator<Item = &StageDiff> {
        self.stages.iter().filter(|stage| stage.fate == Fate::Kept)
    }

    /// The stages that both plans have, with something changed.
    pub fn changed(&self) -> impl Iterator<Item = &StageDiff> {
        self.stages.iter().filter(|stage| matches!(stage.fate, Fate::Changed(_)))
    }

    /// The stages that only the new plan has.
    pub fn new_stages(&self) -> impl Iterator<Item = &StageDiff> {
        self.stages.iter().filter(|stage| stage.fate == Fate::New)
    }

    /// The stages that only the old plan has.
    pub fn dropped(&self) -> impl Iterator<Item = &StageDiff> {
        self.stages.iter().filter(|stage| stage.fate == Fate::Dropped)
    }
}

impl StageDiff {
    fn of(stage: &Stage, fate: Fate) -> Self {
        StageDiff { name: stage.name.clone(), kind: stage.kind.to_string(), state: stage.state.clone(), fate }
    }
}

/// Which stages of two plans are the same.
struct Pairs<'a> {
    old: &'a Plan,
    new: &'a Plan,
    /// For each stage of the new plan, that of the old one; and the reverse.
    old_of: Vec<Option<usize>>,
    new_of: Vec<Option<usize>>,
}

impl<'a> Pairs<'a> {
    fn of(old: &'a Plan, new: &'a Plan) -> Self {
        let (old_of, new_of) = (vec![None; new.stages.len()], vec![None; old.stages.len()]);
        let mut pairs = Pairs { old, new, old_of, new_of };
        pairs.pair_by(|stage| stage.named_by_user.then_some(&*stage.name));
        pairs.pair_by(|stage| Some(&stage.name));
        pairs.pair_by(|stage| Some(&stage.path));
        pairs
    }

    /// Pairs the stages that are still alone and have the same key.
    fn pair_by(&mut self, key: impl Fn(&'a Stage) -> Option<&'a str>) {
        let (old, new) = (self.old, self.new);
        let alone = old.stages.iter().enumerate().filter(|(before, _)| self.new_of[*before].is_none());
        let mut by_key: BTreeMap<&str, usize> = BTreeMap::new();
        alone.for_each(|(before, stage)| by_key.extend(key(stage).map(|key| (key, before))));
        for (after, stage) in
            new.stages.iter().enumerate().filter(|(after, _)| self.old_of[*after].is_none()).collect::<Vec<_>>()
        {
            let Some(&before) = key(stage).and_then(|key| by_key.get(key)) else { continue };
            let other = &old.stages[before];
            if stage.named_by_user && other.named_by_user && stage.name != other.name {
                continue;
            }
            by_key.remove(key(stage).expect("it was found by its key"));
            (self.old_of[after], self.new_of[before]) = (Some(before), Some(after));
        }
    }

    fn changes(&self, before: &Stage, after: &Stage) -> Vec<Change> {
        let mut changes = Vec::new();
        if before.name != after.name {
            changes.push(Change::Name { before: before.name.clone(), after: after.name.clone() });
        }
        if before.kind != after.kind {
            changes.push(Change::Kind { before: before.kind.to_string(), after: after.kind.to_string() });
        }
        changes.extend(self.edges(&before.reads, &after.reads).map(Change::Reads));
        if before.state != after.state {
            changes.push(Change::State { before: before.state.clone(), after: after.state.clone() });
        }
        if before.tasklets != after.tasklets {
            changes.push(Change::Tasklets { before: before.tasklets, after: after.tasklets });
        }
        if before.keys != after.keys {
            changes.push(Change::Keys { before: before.keys, after: after.keys });
        }
        let bytes = |plan: &Plan, stage: &Stage| plan.rings.get(stage.writes).map_or(0, |ring| ring.slot_bytes);
        let (slot_before, slot_after) = (bytes(self.old, before), bytes(self.new, after));
        if slot_before != slot_after {
            changes.push(Change::SlotBytes { before: slot_before, after: slot_after });
        }
        changes
    }

    /// The changes of the sinks with names. Of several with one name the first is the first.
    fn sinks(&self) -> Vec<SinkDiff> {
        let mut left: Vec<&SideSink> = self.old.side_sinks.iter().collect();
        let mut sinks = Vec::new();
        for SideSink { name, reads } in &self.new.side_sinks {
            let fate = match left.iter().position(|old| old.name == *name) {
                None => Fate::New,
                Some(at) => match self.edges(&left.remove(at).reads, reads) {
                    None => continue,
                    Some(reads) => Fate::Changed(vec![Change::Reads(reads)]),
                },
            };
            sinks.push(SinkDiff { name: name.clone(), fate });
        }
        sinks.extend(left.into_iter().map(|sink| SinkDiff { name: sink.name.clone(), fate: Fate::Dropped }));
        sinks
    }

    /// The difference of two lists of rings, if the stages that write them are not the same.
    fn edges(&self, before: &[usize], after: &[usize]) -> Option<EdgeDiff> {
        let writer = |plan: &Plan, ring: &usize| plan.rings.get(*ring).and_then(|ring| ring.writer);
        let same = before.len() == after.len()
            && before.iter().zip(after).all(|(before, after)| {
                match (writer(self.old, before), writer(self.new, after)) {
                    (None, None) => (*before == 0) == (*after == 0),
                    (before, Some(after)) => before.is_some() && self.old_of.get(after).copied().flatten() == before,
                    (Some(_), None) => false,
                }
            });
        let names = |plan: &Plan, rings: &[usize]| {
            let name = |ring: &usize| match writer(plan, ring).and_then(|writer| plan.stages.get(writer)) {
                Some(stage) => stage.name.clone(),
                None if *ring == 0 => "source".to_owned(),
                None => "outside".to_owned(),
            };
            rings.iter().map(name).collect()
        };
        (!same).then(|| EdgeDiff { before: names(self.old, before), after: names(self.new, after) })
    }
}
