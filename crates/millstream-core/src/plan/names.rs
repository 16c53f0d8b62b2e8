//! The names of stages.

use super::Warning;
use super::node::Node;
use std::collections::BTreeMap;

/// The names and the paths of all nodes.
pub(super) struct Names {
    pub(super) names: Vec<String>,
    pub(super) paths: Vec<String>,
}

impl Names {
    /// A user's name is taken as it is. A derived name is that of the enclosing combinator, the branch, and the ordinal
    /// among the nodes of the same kind there. The path is the name without any user's name. Pushes a warning for each
    /// name that is set twice.
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
            let name = node.user_name.clone().unwrap_or_else(|| derived(&names));
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
