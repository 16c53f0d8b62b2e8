use super::{NodeId, Plan};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// Finds the stage of the plan for each stage that a deployment adds, by its [id](NodeId).
#[derive(Clone, Debug, Default)]
pub struct StageLookup {
    /// The stage at each id.
    stages: BTreeMap<NodeId, usize>,
    /// The stages that were added, with the copy: a shard on queues adds each stage of its body k times.
    added: BTreeSet<(usize, usize)>,
    mismatch: Option<PlanMismatch>,
}

impl StageLookup {
    /// Finds the stages of `plan`, whose ids these are.
    pub(super) fn new(plan: &Plan, ids: Vec<NodeId>) -> Self {
        let mut lookup = StageLookup::default();
        for (stage, id) in ids.into_iter().enumerate() {
            match lookup.stages.entry(id) {
                Entry::Vacant(free) => _ = free.insert(stage),
                Entry::Occupied(taken) => {
                    let stages = [*taken.get(), stage].map(|stage| plan.stages[stage].name.clone());
                    let same = PlanMismatch::SameId { id: taken.key().to_string(), stages: stages.into() };
                    lookup.mismatch.get_or_insert(same);
                }
            }
        }
        lookup
    }

    /// The stage of the plan that is added at `id`, in one of the copies of its body; `None` if the plan has none
    /// there, or if it was added before.
    pub fn stage(&mut self, id: &NodeId, copy: usize) -> Option<usize> {
        let Some(&stage) = self.stages.get(id) else {
            self.mismatch.get_or_insert(PlanMismatch::Unplanned { id: id.to_string() });
            return None;
        };
        if self.added.insert((stage, copy)) {
            return Some(stage);
        }
        self.mismatch.get_or_insert(PlanMismatch::Twice { id: id.to_string() });
        None
    }

    /// The stage of the plan that is to be added at `id`.
    #[must_use]
    pub fn at(&self, id: &NodeId) -> Option<usize> {
        self.stages.get(id).copied()
    }

    /// Checks that every stage of the plan was added, and nothing else.
    ///
    /// # Errors
    ///
    /// The first difference: the combinator at that position describes other stages than it deploys.
    pub fn finish(self, plan: &Plan) -> Result<(), PlanMismatch> {
        if let Some(mismatch) = self.mismatch {
            return Err(mismatch);
        }
        let added: BTreeSet<usize> = self.added.into_iter().map(|(stage, _)| stage).collect();
        match self.stages.into_iter().find(|(_, stage)| !added.contains(stage)) {
            None => Ok(()),
            Some((id, stage)) => {
                Err(PlanMismatch::Missing { id: id.to_string(), stage: plan.stages[stage].name.clone() })
            }
        }
    }
}

/// A pipeline's deployment and its plan have different stages: a combinator's
/// [`describe`](crate::Arrow::describe) and [`deploy`](crate::Deploy::deploy) contradict each other. An `id` is the
/// text of the [`NodeId`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlanMismatch {
    /// The deployment added no stage for this one of the plan.
    Missing {
        /// The position of the stage in the pipeline.
        id: String,
        /// The stage's name in the plan.
        stage: String,
    },
    /// The deployment added a stage where the plan has none.
    Unplanned {
        /// The position in the pipeline.
        id: String,
    },
    /// The deployment added two stages where the plan has one.
    Twice {
        /// The position in the pipeline.
        id: String,
    },
    /// Stages of the plan have the same position, so a deployment cannot tell them apart.
    SameId {
        /// The position in the pipeline.
        id: String,
        /// The names of the stages in the plan.
        stages: Vec<String>,
    },
}

impl fmt::Display for PlanMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PlanMismatch::Missing { id, stage } => {
                write!(f, "the plan has the stage {stage:?} at {id}, and the deployment has none there")
            }
            PlanMismatch::Unplanned { id } => {
                write!(f, "the deployment has a stage at {id}, and the plan has none there")
            }
            PlanMismatch::Twice { id } => {
                write!(f, "the deployment has two stages at {id}, and the plan has one there")
            }
            PlanMismatch::SameId { id, stages } => {
                write!(f, "the stages {} of the plan are all at {id}", stages.join(" and "))
            }
        }
    }
}

impl std::error::Error for PlanMismatch {}
