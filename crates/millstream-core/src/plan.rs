//! A pipeline as plain data: its stages, its rings, what is odd about it.
//!
//! A plan is derived from a pipeline value and never the other way round. Everything that shows, checks or compares
//! pipelines works on plans.

mod build;
mod show;

pub use build::{Describe, Filled, Port, StageKind};

/// What a pipeline consists of. Stages are in pipeline order: a stage reads only rings of earlier stages, of the source,
/// or the states of a feedback loop that it is in.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Plan {
    /// The stages, in pipeline order.
    pub stages: Vec<Stage>,
    /// The rings, by index; ring 0 is the source's.
    pub rings: Vec<Ring>,
    /// The rings that the pipeline's output is read from.
    pub output: Vec<usize>,
    /// What will not do what its writer meant.
    pub warnings: Vec<Warning>,
}

/// One stage: something that reads rings and writes one.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Stage {
    /// The name the user gave it, or else one derived from its path. Unique in the plan.
    pub name: String,
    /// The combinator that made it.
    pub kind: &'static str,
    /// The rings it reads.
    pub reads: Vec<usize>,
    /// The ring it writes.
    pub writes: usize,
    /// How many tasklets run it at once: more than one inside `shard`.
    pub tasklets: usize,
    /// Whether it keeps state from one number to the next.
    pub stateful: bool,
    /// How many keys it keeps a state for at once, at most, if it has keys.
    pub keys: Option<usize>,
    /// Whether its closure may wait, so that every tasklet gets a thread of its own.
    pub blocking: bool,
    /// Whether it is in a feedback loop: one number at a time, on one worker with the rest of the loop.
    pub serial: bool,
}

/// One ring: where the slots of an edge are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Ring {
    /// The stage that writes it; none for the source's ring.
    pub writer: Option<usize>,
    /// Bytes of one slot, without what its value owns on the heap.
    pub slot_bytes: usize,
    /// Whether every slot below END is filled.
    pub dense: bool,
    /// The least number of slots that will do: 2 for a loop's states.
    pub least: usize,
    /// Slots, once a deployment has chosen it.
    pub capacity: Option<usize>,
    /// Whose numbers it has: 0 is the source's clock, and every stage that renumbers starts the next.
    pub clock: usize,
}

/// Something that a pipeline's writer will not have meant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(tag = "warning", rename_all = "kebab-case"))]
pub enum Warning {
    /// The two halves of this join are never filled at the same number, as in `id &&& fold`.
    NeverJoins {
        /// The join.
        at: String,
    },
    /// Two stages have this name; the later ones got a number behind it.
    SameName {
        /// The name.
        name: String,
    },
    /// This name was given to a pipeline without a stage.
    NamesNothing {
        /// The name.
        name: String,
    },
}

impl Plan {
    /// The same plan with every ring of this many slots, or of the least number that will do.
    #[must_use]
    pub fn with_capacity(mut self, slots: usize) -> Self {
        for ring in &mut self.rings {
            ring.capacity = Some(slots.max(ring.least));
        }
        self
    }

    /// The same plan with a source whose ring has this many slots.
    #[must_use]
    pub fn with_source_capacity(mut self, slots: usize) -> Self {
        for ring in self.rings.iter_mut().filter(|ring| ring.writer.is_none()).take(1) {
            ring.capacity = Some(slots);
        }
        self
    }

    /// The same plan with so many rings more, of such slots, that somebody outside the pipeline fills: each has a clock of
    /// its own, and what is in front of the source's ring takes from them.
    #[must_use]
    pub fn with_fed_rings(mut self, count: usize, slot_bytes: usize, slots: usize) -> Self {
        let clocks = self.rings.iter().map(|ring| ring.clock + 1).max().unwrap_or(0);
        let capacity = Some(slots);
        let ring = |clock| Ring { writer: None, slot_bytes, dense: true, least: 1, capacity, clock };
        self.rings.extend((clocks..clocks + count).map(ring));
        self
    }

    /// Whether its output has numbers of its own: there is a stage in between that begins a new clock.
    #[must_use]
    pub fn renumbers(&self) -> bool {
        self.output.iter().any(|ring| self.rings.get(*ring).is_some_and(|ring| ring.clock > 0))
    }

    /// Bytes of all rings together, without what values own on the heap, once capacities are known; `usize::MAX` if
    /// they are more than that.
    #[must_use]
    pub fn bytes(&self) -> Option<usize> {
        let ring = |ring: &Ring| Some(ring.capacity?.saturating_mul(ring.slot_bytes));
        self.rings.iter().map(ring).try_fold(0, |sum: usize, bytes| Some(sum.saturating_add(bytes?)))
    }

    /// How many tasklets share the workers, and how many have a thread each; source and sink are not counted.
    #[must_use]
    pub fn tasklets(&self) -> (usize, usize) {
        let count = |blocking| self.stages.iter().filter(|s| s.blocking == blocking).map(|s| s.tasklets).sum();
        (count(false), count(true))
    }
}
