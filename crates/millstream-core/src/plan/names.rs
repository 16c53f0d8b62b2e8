//! The names of stages.

use super::Warning;
use super::build::Node;
use std::collections::BTreeMap;

/// The name of each node, and warnings about names that are set twice.
///
/// A user's name is taken as it is. A derived name is the place in the enclosing combinator, and the ordinal among the
/// unnamed nodes of the same kind there.
pub(super) fn names(nodes: &[Node], warnings: &mut Vec<Warning>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut ordinals = BTreeMap::new();
    let mut taken = BTreeMap::new();
    for node in nodes {
        let name = node.user_name.clone().unwrap_or_else(|| {
            let ordinal = ordinals.entry((node.parent, node.branch, node.kind)).or_insert(0);
            *ordinal += 1;
            let own = format!("{}-{ordinal}", node.kind);
            let path = node.parent.map(|parent| names[parent].as_str());
            [path, Some(node.branch.word()), Some(&own)]
                .into_iter()
                .flatten()
                .filter(|part| !part.is_empty())
                .collect::<Vec<_>>()
                .join(".")
        });
        let times = taken.entry(name.clone()).or_insert(0_usize);
        *times += 1;
        if *times == 2 {
            warnings.push(Warning::SameName { name: name.clone() });
        }
        names.push(if *times == 1 { name } else { format!("{name}-{times}") });
    }
    names
}
