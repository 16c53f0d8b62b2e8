//! Identity of the nodes of one pipeline value: how a plan and a deployment of it are joined.

use std::fmt;
use std::ops::{Deref, DerefMut};

/// The identity of a node in one pipeline value: the position of the node in the value, and nothing that a walk over
/// the value counts.
///
/// [`Arrow::describe`](crate::Arrow::describe) and [`Deploy::deploy`](crate::Deploy::deploy) walk over the same value.
/// Each walk knows the id of the node at which it is, so a deployment finds the [`Stage`](crate::plan::Stage) that it
/// adds by its id, in any order ([`StageLookup`](crate::plan::StageLookup)).
///
/// The rules, for a combinator with bodies:
///
/// - one that runs a pipeline after another, as `then`, [advances](NodeId::advance) between them;
/// - any other enters a [body](NodeId::body) by a [`Branch`] of its own, and returns to its own id after it;
/// - one that only wraps a pipeline, as a box, does neither.
///
/// The text of an id is the number of the step at the outer level, then the branch and the step for each level. In a
/// pipeline of method calls, step 0 is `pipeline()` and step n is the n-th call: `3.first.2` is the second call in the
/// first body of the third call.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId {
    /// The steps that enclose this one, and the branch that was taken at each, from the outermost on.
    around: Vec<(u32, Branch)>,
    step: u32,
}

impl NodeId {
    /// The first step of a body of this node.
    #[must_use]
    pub fn body(&self, branch: Branch) -> NodeId {
        let mut around = Vec::with_capacity(self.around.len() + 1);
        around.extend_from_slice(&self.around);
        around.push((self.step, branch));
        NodeId { around, step: 0 }
    }

    /// Goes on to the next step of the same body.
    pub fn advance(&mut self) {
        self.step += 1;
    }

    /// Whether the node is in no body.
    #[must_use]
    pub fn is_outer(&self) -> bool {
        self.around.is_empty()
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.around.iter().try_for_each(|(step, branch)| write!(f, "{step}.{branch}."))?;
        write!(f, "{}", self.step)
    }
}

/// Which body of a combinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Branch {
    First,
    Second,
    Third,
    Fourth,
    Fifth,
    Sixth,
    Seventh,
    Eighth,
    Left,
    Right,
    /// The only one.
    Only,
}

impl Branch {
    /// The bodies of a fan-out, in order.
    pub(crate) const FANOUT: [Branch; 8] = [
        Branch::First,
        Branch::Second,
        Branch::Third,
        Branch::Fourth,
        Branch::Fifth,
        Branch::Sixth,
        Branch::Seventh,
        Branch::Eighth,
    ];

    /// The word for the branch in the names of stages; empty for the only body.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Branch::First => "first",
            Branch::Second => "second",
            Branch::Third => "third",
            Branch::Fourth => "fourth",
            Branch::Fifth => "fifth",
            Branch::Sixth => "sixth",
            Branch::Seventh => "seventh",
            Branch::Eighth => "eighth",
            Branch::Left => "left",
            Branch::Right => "right",
            Branch::Only => "",
        }
    }
}

impl fmt::Display for Branch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if *self == Branch::Only { "body" } else { self.word() })
    }
}

/// A walk over a pipeline value, with a scope: what holds for the nodes of one body, as their id and whether they are
/// sharded.
pub trait Walk {
    /// The properties that the nodes of a body share.
    type Scope: Clone;
    /// The scope of the nodes that are visited now.
    fn scope(&mut self) -> &mut Self::Scope;
}

/// A walk in a scope of its own: the scope before is restored on drop.
#[derive(Debug)]
pub struct Scoped<'a, W: Walk> {
    walk: &'a mut W,
    outside: W::Scope,
}

impl<'a, W: Walk> Scoped<'a, W> {
    /// Begins a scope that is a copy of the present one.
    pub fn new(walk: &'a mut W) -> Self {
        let outside = walk.scope().clone();
        Scoped { walk, outside }
    }
}

impl<W: Walk> Deref for Scoped<'_, W> {
    type Target = W;

    fn deref(&self) -> &W {
        self.walk
    }
}

impl<W: Walk> DerefMut for Scoped<'_, W> {
    fn deref_mut(&mut self) -> &mut W {
        self.walk
    }
}

impl<W: Walk> Drop for Scoped<'_, W> {
    fn drop(&mut self) {
        std::mem::swap(self.walk.scope(), &mut self.outside);
    }
}
