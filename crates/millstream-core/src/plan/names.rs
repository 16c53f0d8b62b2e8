//! The names of stages.

use super::Warning;
use super::node::{Node, OfWire};
use std::collections::BTreeMap;

/// The names and the paths of all nodes.
pub(super) struct Names {
    pub(super) names: Vec<String>,
    pub(super) paths: Vec<String>,
}

impl Names {
    /// A user's name is taken as it is. A derived name is that of the enclosing combinator, the branch, and the ordinal
    /// among the nodes of the same kind there. The name of a wire is its own, after that of the nearest node around it
    /// that the user named; the last stage of its statement has the same name. The path is the name without any user's
    /// name. Pushes a warning for each name that is set twice.
    pub(super) fn of(nodes: &[Node], warnings: &mut Vec<Warning>) -> Self {
        let (mut names, mut paths) = (Vec::<String>::new(), Vec::<String>::new());
        let mut ordinals = BTreeMap::new();
        let mut taken = BTreeMap::new();
        for node in nodes {
            let ordinal = ordinals.entry((node.parent, node.branch, node.kind)).or_insert(0);
            *ordinal += 1;
            let derived = |around: &[String]| {
                let around = node.parent.map_or("", |parent| &around[parent]);
                let parts = [around, node.branch.word(), &format!("{}-{ordinal}", node.kind)];
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(".")
            };
            paths.push(derived(&paths));
            let name = match (&node.user_name, &node.wire) {
                (Some(name), _) => name.clone(),
                (None, Some(OfWire::End(statement))) => {
                    names.push(names[*statement].clone());
                    continue;
                }
                (None, Some(OfWire::Statement(name))) => {
                    let around = std::iter::successors(node.parent, |around| nodes[*around].parent);
                    // A choice without a name has the one of its place.
                    let is_choice = |node: usize| matches!(nodes[node].kind, "if" | "match");
                    let named = around.into_iter().find(|around| nodes[*around].is_named() || is_choice(*around));
                    named.map_or_else(|| name.clone(), |around| format!("{}.{name}", names[around]))
                }
                (None, None) => derived(&names),
            };
            let times = taken.entry(name.clone()).or_insert(0_usize);
            *times += 1;
            if *times == 2 {
                warnings.push(Warning::SameName { name: name.clone() });
            }
            names.push(if *times == 1 { name } else { format!("{name}-{times}") });
        }
        Names { names, paths }
    }
}
