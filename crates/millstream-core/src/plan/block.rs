//! How a block of named wires describes itself.

use super::node::OfWire;
use super::{Body, Branch, Describe, NodeId, Port, Scoped};
use crate::{Arrow, Density, Shape};

impl Describe {
    /// Describes the statement that binds the wire `name`: the last stage or combinator in it has that name, unless the
    /// user gave it another. A statement without a stage names nothing.
    pub fn statement(&mut self, name: &str, branch: Branch, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let before = self.last.take();
        let node = (!name.is_empty()).then(|| self.node("wire"));
        let mut inside = Scoped::new(self);
        inside.scope.id = inside.scope.id.body(branch);
        if let Some(node) = node {
            inside.nodes[node].wire = Some(OfWire::Statement(name.to_owned()));
            inside.scope.parent = Some(node);
            inside.scope.branch = Branch::Only;
        }
        let port = body(&mut inside);
        drop(inside);
        match (node, self.last) {
            (Some(node), Some(last)) if !self.nodes[last].is_named() => {
                self.nodes[last].wire = Some(OfWire::End(node));
            }
            (_, Some(_)) => {}
            (node, None) => {
                node.into_iter().for_each(|node| self.nodes[node].wire = None);
                self.last = before;
            }
        }
        port
    }

    /// Adds the join of two to eight pipelines that read one scope, each in a body of its own.
    pub fn join_wires(&mut self, bodies: Vec<Body<'_>>) -> Port {
        let around = self.scope.id.clone();
        let ids: Vec<NodeId> =
            Branch::FANOUT.into_iter().take(bodies.len()).map(|branch| around.body(branch)).collect();
        self.joined("join", bodies, ids)
    }

    /// Adds a choice: the condition, and the lanes of the numbers at which it is true and false.
    pub fn choice(
        &mut self,
        condition: impl FnOnce(&mut Self) -> Port,
        yes: impl FnOnce(&mut Self, Port) -> Port,
        no: impl FnOnce(&mut Self, Port) -> Port,
    ) -> Port {
        let node = self.node("if");
        let id = self.scope.id.clone();
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.id = id;
        let tag = inside.statement("if", Branch::Only, condition);
        let left = inside.statement("yes", Branch::Left, |plan| yes(plan, tag.clone()));
        let right = inside.statement("no", Branch::Right, |plan| no(plan, tag));
        drop(inside);
        self.last = Some(node);
        left.merged(right)
    }

    /// Adds a choice between arms: the numbers of the arms, and the arms, which are described at the branch
    /// [`Right`](Branch::Right).
    pub fn matching(
        &mut self,
        tag: impl FnOnce(&mut Self) -> Port,
        arms: impl FnOnce(&mut Self, Port) -> Port,
    ) -> Port {
        let node = self.node("match");
        let id = self.scope.id.clone();
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.id = id;
        let tag = inside.statement("match", Branch::Only, tag);
        let port = inside.branch(Branch::Right, |plan| arms(plan, tag));
        drop(inside);
        self.last = Some(node);
        port
    }

    /// Describes something in a body of the node that is described now.
    pub fn branch(&mut self, branch: Branch, body: impl FnOnce(&mut Self) -> Port) -> Port {
        let mut inside = Scoped::new(self);
        inside.scope.id = inside.scope.id.body(branch);
        body(&mut inside)
    }

    /// How many pipelines read each wire of the scope that `body` reads. A lane's own scope is such a scope.
    #[must_use]
    pub fn readers<P: Arrow>(body: &P) -> Vec<usize> {
        let (mut plan, wire) = Describe::new(0, <P::In as Shape>::Density::DENSE);
        let scope = Port::any_scope(wire);
        let _ = body.describe(scope.clone(), &mut plan);
        scope.readers()
    }
}
