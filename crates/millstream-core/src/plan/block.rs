//! How a block of named wires describes itself.

use super::node::{OfWire, Unjoined};
use super::{Body, Branch, Describe, NodeId, Port, Scoped};
use crate::{Arrow, Density, Shape};

const IF: &str = "if";
const MATCH: &str = "match";
/// The kinds of the nodes that have lanes.
const CHOICES: [&str; 2] = [IF, MATCH];

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

    /// Describes a block: its statements, and its result. A result that is a wire has no node of its own: the last node
    /// is then that of the wire's statement, or the one before the block if the wire is the block's input.
    pub(crate) fn block(&mut self, statements: impl FnOnce(&mut Self), result: impl FnOnce(&mut Self) -> Port) -> Port {
        let (before, first) = (self.last, self.nodes.len());
        statements(self);
        self.last = None;
        let port = self.statement("", Branch::Only, result);
        if self.last.is_none() {
            self.last = self.writer(&port).and_then(|writer| self.last_with(writer, first)).or(before);
        }
        port
    }

    /// The last node of the statement that this node is in, of the block around that has the nodes from `first` on.
    fn last_with(&self, node: usize, first: usize) -> Option<usize> {
        let parent = |node: usize| self.nodes[node].parent;
        let mut outwards = std::iter::successors(Some(node), |node| parent(*node));
        let outer = outwards.find(|node| parent(*node) == self.scope.parent).filter(|node| *node >= first)?;
        if !matches!(self.nodes[outer].wire, Some(OfWire::Statement(_))) {
            return Some(outer);
        }
        (outer..self.nodes.len()).rev().find(|node| parent(*node) == Some(outer))
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
        let node = self.node(IF);
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
        let node = self.node(MATCH);
        let id = self.scope.id.clone();
        let mut inside = self.inside(node, Branch::Only);
        inside.scope.id = id;
        let tag = inside.statement("match", Branch::Only, tag);
        let port = inside.branch(Branch::Right, |plan| arms(plan, tag));
        drop(inside);
        self.last = Some(node);
        port
    }

    /// A wire of the block around a choice, as a lane sees it: at the numbers at which the choice, by `tag`, can take
    /// the lane.
    pub fn in_lane(&mut self, wire: &Port, tag: &Port) -> Port {
        if wire.filled.end && !tag.filled.end {
            let of = self.writer(wire);
            let mut node = self.scope.parent;
            while let Some(n) = node.filter(|n| !CHOICES.contains(&self.nodes[*n].kind)) {
                node = self.nodes[n].parent;
            }
            node.into_iter().for_each(|n| self.nodes[n].unjoined = Some(Unjoined::End { of: vec![of] }));
        }
        wire.at_numbers_of(tag)
    }

    /// Adds a combinator that outputs the values of the first body, and those of the second where that has none. A
    /// wire that is the second body is not lost where a join of the first one has no pair for it.
    pub fn otherwise(
        &mut self,
        kind: &'static str,
        first: impl FnOnce(&mut Self) -> Port,
        second: impl FnOnce(&mut Self) -> Port,
    ) -> Port {
        let (begin, mut end, mut kept) = (self.nodes.len(), self.nodes.len(), None);
        let port = self.lanes(
            kind,
            |plan| {
                let port = first(plan);
                end = plan.nodes.len();
                port
            },
            |plan| {
                let port = second(plan);
                kept = plan.writer(&port);
                port
            },
        );
        for node in &mut self.nodes[begin..end] {
            node.unjoined = match (node.unjoined.take(), kept) {
                (Some(unjoined), Some(kept)) => unjoined.without(kept),
                (unjoined, _) => unjoined,
            };
        }
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
