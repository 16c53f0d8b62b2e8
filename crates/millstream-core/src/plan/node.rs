//! The nodes of a pipeline, and the stages that they are.

use super::names::Names;
use super::{Branch, NodeId, Stage, StateType, Warning};
use std::collections::BTreeMap;

/// A combinator of a pipeline.
pub(super) struct Node {
    pub(super) parent: Option<usize>,
    pub(super) branch: Branch,
    pub(super) kind: &'static str,
    pub(super) user_name: Option<String>,
    /// Its role for a wire of a block.
    pub(super) wire: Option<OfWire>,
    pub(super) stage: Option<Planned>,
    /// What of its halves is in no pair, if it is a join; what of wires is in no lane, if it is a choice.
    pub(super) unjoined: Option<Unjoined>,
    /// The version of the state, if the user set one.
    pub(super) version: Option<u32>,
}

/// The role of a node for a named wire.
pub(super) enum OfWire {
    /// The statement that binds the wire, with the wire's name.
    Statement(String),
    /// The last stage or combinator of that statement: it has the wire's name.
    End(usize),
}

/// What of the halves of a join is in no pair.
pub(super) enum Unjoined {
    /// All their values: they are never filled at the same number.
    All,
    /// What halves, which these stages write, have at END, where another half is empty.
    End { of: Vec<Option<usize>> },
    /// What halves, which these stages write, have below END, where another half is empty.
    Numbers { of: Vec<Option<usize>> },
}

impl Unjoined {
    /// What is left if the values of this stage are output otherwise.
    pub(super) fn without(self, stage: usize) -> Option<Self> {
        let others = |of: Vec<Option<usize>>| {
            let others: Vec<_> = of.into_iter().filter(|of| *of != Some(stage)).collect();
            (!others.is_empty()).then_some(others)
        };
        match self {
            Unjoined::All => Some(Unjoined::All),
            Unjoined::End { of } => others(of).map(|of| Unjoined::End { of }),
            Unjoined::Numbers { of } => others(of).map(|of| Unjoined::Numbers { of }),
        }
    }
}

/// A stage without a name.
pub(super) struct Planned {
    pub(super) stage: Stage,
    pub(super) id: NodeId,
    pub(super) state: Option<StateType>,
    /// Whether the enclosing combinator adds it, and not a body.
    pub(super) part: bool,
}

impl Node {
    /// Whether the user named it, as a stage or as a wire.
    pub(super) fn is_named(&self) -> bool {
        self.user_name.is_some() || self.wire.is_some()
    }

    /// The node whose name and version are those of this one, which is number `index`: of a part, the combinator.
    fn owner(&self, index: usize) -> usize {
        let is_part = self.stage.as_ref().is_some_and(|stage| stage.part);
        self.parent.filter(|_| is_part).unwrap_or(index)
    }
}

/// The stages with their names and states, in pipeline order, and the stage of each node that is one.
pub(super) fn named_stages(
    mut nodes: Vec<Node>,
    warnings: &mut Vec<Warning>,
) -> (Vec<(Stage, NodeId)>, BTreeMap<usize, usize>) {
    let Names { names, paths } = Names::of(&nodes, warnings);
    let (mut stages, mut index) = (Vec::new(), BTreeMap::new());
    for n in 0..nodes.len() {
        let at = || names[n].clone();
        let stage = |of: Option<usize>| of.map_or_else(at, |stage| names[stage].clone());
        match &nodes[n].unjoined {
            Some(Unjoined::All) => warnings.push(Warning::NeverJoins { at: at() }),
            Some(Unjoined::End { of }) => warnings.push(Warning::LosesEnd { at: at(), of: stage(of[0]) }),
            Some(Unjoined::Numbers { of }) => warnings.push(Warning::LosesNumbers { at: at(), of: stage(of[0]) }),
            None => {}
        }
        let owner = nodes[n].owner(n);
        let Some(Planned { stage, id, state, .. }) = nodes[n].stage.take() else { continue };
        let owner = &mut nodes[owner];
        let state = state.and_then(|state| state.info(owner.version.unwrap_or(1)));
        if state.is_some() {
            // A version that is left below was set where there is no state.
            owner.version = None;
        }
        let (named_by_user, name, path) = (owner.is_named(), names[n].clone(), paths[n].clone());
        index.insert(n, stages.len());
        stages.push((Stage { name, named_by_user, path, state, ..stage }, id));
    }
    let left = nodes.iter().zip(&names).filter(|(node, _)| node.version.is_some());
    warnings.extend(left.map(|(_, name)| Warning::VersionOfNothing { name: name.clone() }));
    (stages, index)
}
