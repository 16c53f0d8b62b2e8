//! A pipeline as plain data: its stages, its rings, and warnings.
//!
//! A plan is derived from a pipeline value, never the reverse. Everything that shows, checks or compares pipelines
//! works on plans.

mod block;
mod build;
mod diff;
mod durable;
mod format;
mod lookup;
mod names;
mod node;
mod node_id;
mod port;
mod show;
mod state;
mod upgrade;

pub use build::Describe;
pub use diff::{Change, EdgeDiff, Fate, PlanDiff, SinkDiff, StageDiff};
pub use durable::{NotDurable, UnnamedState};
pub use format::PlanFormat;
pub use lookup::{PlanMismatch, StageLookup};
pub use node_id::{Branch, NodeId, Scoped, Walk};
pub use port::{Body, Filled, Port, StageKind};
pub use state::{Fingerprint, StateInfo, StateType};
pub use upgrade::{StageCheck, UpgradeCheck, UpgradeRules, Verdict};

use crate::Arrow;
use std::borrow::Cow;

/// The contents of a pipeline. Stages are in pipeline order: a stage reads only rings of earlier stages, of the
/// source, or the states of a feedback loop that it is in.
///
/// With the feature `serde` a plan is written and read back: `serde_json` writes one as an object with these fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Plan {
    /// The version of the written form.
    pub format: PlanFormat,
    /// The stages, in pipeline order.
    pub stages: Vec<Stage>,
    /// The rings, by index; ring 0 is the source's.
    pub rings: Vec<Ring>,
    /// The rings that the pipeline's output is read from.
    pub output: Vec<usize>,
    /// The sinks of `tee_to`, in pipeline order. Plans of earlier versions have none.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub side_sinks: Vec<SideSink>,
    /// Likely mistakes.
    pub warnings: Vec<Warning>,
}

/// A sink beside the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SideSink {
    /// Its name.
    pub name: String,
    /// The rings it reads.
    pub reads: Vec<usize>,
}

/// One stage: something that reads rings and writes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Stage {
    /// The name that the user set, or one derived from the stage's place: that of the enclosing combinator, and the
    /// ordinal among the nodes of the same kind there. Unique in the plan. Naming a stage changes no name elsewhere,
    /// except of what is inside it.
    pub name: String,
    /// Whether the user set the name. For a stage that a combinator with a body adds, as the key stage of a `shard_by`
    /// and the state of a `feedback`, whether the user named that combinator.
    pub named_by_user: bool,
    /// The name that it would have if the user had set none: its place in the pipeline.
    pub path: String,
    /// The combinator that made the stage.
    pub kind: Cow<'static, str>,
    /// The rings it reads.
    pub reads: Vec<usize>,
    /// The ring it writes.
    pub writes: usize,
    /// How many tasklets run the stage at once: more than one inside `shard`.
    pub tasklets: usize,
    /// Whether the stage keeps state from one number to the next.
    pub stateful: bool,
    /// That state; none for a stage that keeps none, and for one that only has to see its numbers in order.
    pub state: Option<StateInfo>,
    /// The most keys at once for which the stage keeps a state, if it has keys.
    pub keys: Option<usize>,
    /// Whether the closure may wait; each tasklet then has a thread of its own.
    pub blocking: bool,
    /// Whether the stage is in a feedback loop: one number at a time, on one worker with the rest of the loop.
    pub serial: bool,
    /// Whether the stage ends the stream, as a `take` at the outer level does. Plans of earlier versions do not say it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "std::ops::Not::not"))]
    pub ends: bool,
}

/// One ring: where the slots of an edge are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ring {
    /// The stage that writes the ring; none for the source's ring.
    pub writer: Option<usize>,
    /// Bytes of one slot, without what its value owns on the heap.
    pub slot_bytes: usize,
    /// Whether every slot below END is filled.
    pub dense: bool,
    /// The least number of slots that the ring needs: 2 for a loop's states.
    pub least: usize,
    /// The number of slots, once a deployment has chosen it.
    pub capacity: Option<usize>,
    /// The clock of the numbers: 0 is the source's, and every stage that renumbers starts the next.
    pub clock: usize,
}

/// A likely mistake of the pipeline's author.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(tag = "warning", rename_all = "kebab-case")
)]
pub enum Warning {
    /// The two halves of this join are never filled at the same number, as in `id &&& fold`.
    NeverJoins {
        /// The join.
        at: String,
    },
    /// This join loses what a stage in one half yields at END, since another half is empty there, as in
    /// `maybe &&& fold.maybe`. Or this choice in a block does, whose condition is empty there.
    LosesEnd {
        /// The join or the choice.
        at: String,
        /// The stage.
        of: String,
    },
    /// This join loses what a stage in one half yields below END, since another half yields only at END, as in
    /// `chunks &&& fold`.
    LosesNumbers {
        /// The join.
        at: String,
        /// The stage.
        of: String,
    },
    /// Two stages have this name; the later ones have a number appended.
    SameName {
        /// The name.
        name: String,
    },
    /// This name was set on a pipeline without a stage.
    NamesNothing {
        /// The name.
        name: String,
    },
    /// A version of the state was set for the stage or combinator of this name, which keeps no state of its own.
    VersionOfNothing {
        /// The name.
        name: String,
    },
}

impl Plan {
    /// The plan of a pipeline, and what joins a deployment of the same pipeline with it.
    #[must_use]
    pub fn with_lookup<P: Arrow>(pipeline: &P) -> (Plan, StageLookup) {
        let (mut plan, source) = Describe::of_input::<P::In>();
        let output = pipeline.describe(source, &mut plan);
        plan.finish(output)
    }

    /// The same plan with `slots` slots in every ring, or the least number that the ring needs if that is more.
    #[must_use]
    pub fn with_capacity(mut self, slots: usize) -> Self {
        for ring in &mut self.rings {
            ring.capacity = Some(slots.max(ring.least));
        }
        self
    }

    /// The same plan with `slots` slots in the source's ring.
    #[must_use]
    pub fn with_source_capacity(mut self, slots: usize) -> Self {
        for ring in self.rings.iter_mut().filter(|ring| ring.writer.is_none()).take(1) {
            ring.capacity = Some(slots);
        }
        self
    }

    /// The same plan with `count` more rings, which code outside the pipeline fills. Each has a clock of its own. They
    /// are upstream of the source's ring.
    #[must_use]
    pub fn with_fed_rings(mut self, count: usize, slot_bytes: usize, slots: usize) -> Self {
        let clocks = self.rings.iter().map(|ring| ring.clock + 1).max().unwrap_or(0);
        let capacity = Some(slots);
        let ring = |clock| Ring { writer: None, slot_bytes, dense: true, least: 1, capacity, clock };
        self.rings.extend((clocks..clocks + count).map(ring));
        self
    }

    /// Whether the output has a clock of its own: some stage starts a new one.
    #[must_use]
    pub fn renumbers(&self) -> bool {
        self.output.iter().any(|ring| self.rings.get(*ring).is_some_and(|ring| ring.clock > 0))
    }

    /// Bytes of all rings together, without the heap memory of the values, once capacities are known. `usize::MAX` if
    /// the sum is larger than that.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        let ring = |ring: &Ring| Some(ring.capacity?.saturating_mul(ring.slot_bytes));
        self.rings.iter().map(ring).try_fold(0, |sum: usize, bytes| Some(sum.saturating_add(bytes?)))
    }

    /// How many tasklets share the workers, and how many have a thread each. Source and sink are not counted.
    #[must_use]
    pub fn tasklets(&self) -> (usize, usize) {
        let count = |blocking| self.stages.iter().filter(|s| s.blocking == blocking).map(|s| s.tasklets).sum();
        (count(false), count(true))
    }
}
