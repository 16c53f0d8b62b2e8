//! The names of stages.

use super::Warning;
use super::node::{Node, OfWire};
use std::collections::{BTreeMap, BTreeSet};

/// The names and the paths of all nodes.
pub(super) struct Names {
    pub(super) names: Vec<String>,
    pub(super) paths: Vec<String>,
}

impl Names {
    /// A user's name is taken as it is. A derived name is that of the enclosing combinator, the branch, and the ordinal
    /// among the nodes of the same kind there. The name of a wire is its own, after that of the nearest node around it
    /// that the user named; the last stage of its statement has the same name, unless the user gave it another. The
    /// path is the name without any user's name. Pushes a warning for each name that is set twice; the later ones have
    /// a number appended, the next one that makes a name of no node so far.
    pub(super) fn of(nodes: &[Node], warnings: &mut Vec<Warning>) -> Self {
        let (mut names, mut paths) = (Vec::<String>::new(), Vec::<String>::new());
        let mut ordinals = BTreeMap::new();
        let mut taken = BTreeMap::new();
        let ended = |node: &Node| match node.wire {
            Some(OfWire::End(statement)) if node.user_name.is_none() => Some(statement),
            _ => None,
        };
        let ended: BTreeSet<usize> = nodes.iter().filter_map(ended).collect();
        for (index, node) in nodes.iter().enumerate() {
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
            if matches!(node.wire, Some(OfWire::Statement(_))) && !ended.contains(&index) {
                // No stage has the name of this wire. It is in the names of those inside the statement alone.
                names.push(name);
                continue;
            }
            names.push(unique(name, &mut taken, warnings));
        }
        Names { names, paths }
    }
}

/// This name, or with a number if another node has it. `taken` has the number of times of each name.
fn unique(name: String, taken: &mut BTreeMap<String, usize>, warnings: &mut Vec<Warning>) -> String {
    let Some(times) = taken.get(&name).copied() else {
        taken.insert(name.clone(), 1);
        return name;
    };
    let numbered = |number: &usize| format!("{name}-{number}");
    let number = (times + 1..).find(|number| !taken.contains_key(&numbered(number))).unwrap_or_default();
    let unique = numbered(&number);
    if times == 1 {
        warnings.push(Warning::SameName { name: name.clone() });
    }
    taken.insert(name, number);
    taken.insert(unique.clone(), 1);
    unique
}
