mod leaf;

use super::tree::{Graph, Pipe, Statement};
pub(super) use leaf::leaf;
use proptest::prelude::*;
use proptest::strategy::{NewTree, ValueTree};
use proptest::test_runner::{TestRng, TestRunner};

/// Random pipelines of at most `size` nodes that keep their clock, so that they can be bodies. They shrink to one of
/// their parts, or to simpler stages.
#[must_use]
pub fn pipes(size: usize) -> Pipes {
    Pipes { size, place: Context::Body, blocks: false }
}

/// As [`pipes`], with only quiet stages, so that they can be in a lane or by key.
#[must_use]
pub fn quiet_pipes(size: usize) -> Pipes {
    Pipes { size, place: Context::Lane, blocks: false }
}

/// As [`pipes`], but only blocks of named wires. They may shrink to something else.
#[must_use]
pub fn graphs(size: usize) -> Pipes {
    Pipes { size, place: Context::Body, blocks: true }
}

/// As [`pipes`], but some renumber, or [give the order up](Pipe::gives_order_up), and continue after that.
#[must_use]
pub fn streams(size: usize) -> Pipes {
    Pipes { size, place: Context::Outer, blocks: false }
}

/// See [`pipes`].
#[derive(Clone, Copy, Debug)]
pub struct Pipes {
    size: usize,
    place: Context,
    /// Whether each is a block of named wires.
    blocks: bool,
}

/// The place of a tree, which limits its stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Context {
    /// After the source: anything.
    Outer,
    /// After a stage that gave the order up: only stages whose output values do not depend on the order. Its bodies are
    /// as in a shard.
    Scattered,
    /// In a body: only stages that keep their clock.
    Body,
    /// In a lane of a choice: only stages that are also quiet.
    Lane,
    /// In a shard: only stages that are also stateless.
    Shard,
}

impl Context {
    /// The context of a body that allows no more than `body`.
    pub(super) fn at_most(self, body: Self) -> Self {
        if self == Context::Scattered { Context::Shard } else { self.max(body) }
    }

    /// Whether a stage there may have a state.
    pub(super) fn keeps_states(self) -> bool {
        !matches!(self, Context::Scattered | Context::Shard)
    }

    /// Whether a stage there may start a new clock.
    pub(super) fn has_clocks(self) -> bool {
        matches!(self, Context::Outer | Context::Scattered)
    }

    /// The context after a tree in this context.
    pub(super) fn after(self, tree: &Pipe) -> Self {
        if self == Context::Outer && tree.gives_order_up() { Context::Scattered } else { self }
    }
}

impl Strategy for Pipes {
    type Tree = Shrinking;
    type Value = Pipe;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let size = below(runner.rng(), self.size.max(1)) + 1;
        let rng = runner.rng();
        let tree = if self.blocks { Pipe::Block(graph(rng, size, self.place)) } else { grow(rng, size, self.place) };
        Ok(Shrinking::new(tree))
    }
}

pub(super) fn below(rng: &mut TestRng, limit: usize) -> usize {
    (rng.next_u64() % limit as u64) as usize
}

/// A tree of at most `size` nodes.
fn grow(rng: &mut TestRng, size: usize, place: Context) -> Pipe {
    if size == 1 {
        return leaf(rng, place);
    }
    if size == 2 || below(rng, 5) == 0 {
        return match below(rng, 10) {
            0 => Pipe::Named(grow(rng, size - 1, place).into()),
            1 | 9 => Pipe::Boxed(grow(rng, size - 1, place).into()),
            // In a lane or a shard, the context of the body on the side is the same.
            2 => Pipe::Tee(grow(rng, size - 1, place.at_most(Context::Body)).into()),
            3 if place.keeps_states() => {
                // A loop in a loop costs the model too much: it runs a body again for every number.
                let body = grow(rng, size - 1, place.at_most(Context::Body)).without_loops();
                Pipe::Feedback(size as i64, body.into())
            }
            4 | 5 if place.keeps_states() => {
                let (keys, k) = (below(rng, 7) as i64, 1 + below(rng, 4));
                // Sometimes keys are forgotten again and again. A body with a loop then costs the model too much.
                let most = if below(rng, 3) == 0 { 1 + below(rng, 3) } else { 100 };
                let body = grow(rng, size - 1, place.at_most(Context::Lane));
                let body = if most < 100 { body.without_loops() } else { body }.into();
                Pipe::ShardBy { keys, most, k, body }
            }
            _ => {
                // Shards in shards multiply: four in each of five would be a thousand tasklets a stage.
                let most = if place == Context::Shard { 2 } else { 4 };
                Pipe::Shard(1 + below(rng, most), grow(rng, size - 1, Context::Shard).into())
            }
        };
    }
    if size >= 4 && below(rng, 12) == 0 {
        let count = (3 + below(rng, 6)).min(size - 1);
        let inside = place.at_most(Context::Body);
        return Pipe::FanoutAll((0..count).map(|_| grow(rng, (size - 1) / count, inside)).collect());
    }
    if size >= 4 && below(rng, 8) == 0 {
        return Pipe::Block(graph(rng, size, place));
    }
    let first = 1 + below(rng, size - 2);
    let join = below(rng, 12);
    let inside = match join {
        0..=3 => place,
        4..=7 => place.at_most(Context::Body),
        _ => place.at_most(Context::Lane),
    };
    let p = grow(rng, first, inside);
    let q = grow(rng, size - 1 - first, inside.after(&p));
    let (p, q) = (p.into(), q.into());
    match join {
        0..=3 => Pipe::Then(p, q),
        4 | 5 => Pipe::Fanout(p, q),
        6 | 7 => Pipe::Both(p, q),
        8 | 9 => Pipe::Choose(p, q),
        _ => Pipe::Merge(p, q),
    }
}

/// A block of at most `size` nodes: each statement reads wires before it.
fn graph(rng: &mut TestRng, size: usize, place: Context) -> Graph {
    let (body, lane) = (place.at_most(Context::Body), place.at_most(Context::Lane));
    let mut statements = Vec::new();
    let mut left = size;
    while left > 0 && statements.len() < 8 {
        let before = statements.len() + 1;
        let wire = |rng: &mut TestRng| below(rng, before);
        let share = 1 + below(rng, left.div_ceil(2));
        let statement = match below(rng, 10) {
            0..=3 if left >= 2 => Statement::Body(wire(rng), grow(rng, share.min(left - 1), body)),
            4 | 5 => Statement::Or(wire(rng), wire(rng)),
            6 if left >= 3 => Statement::If {
                wire: wire(rng),
                modulus: 1 + below(rng, 4) as i64,
                yes: (wire(rng), grow(rng, (share / 2).clamp(1, left - 2), lane)),
                no: (wire(rng), leaf(rng, lane)),
            },
            _ => Statement::Join((0..2 + below(rng, 3)).map(|_| wire(rng)).collect()),
        };
        let bodies: usize = match &statement {
            Statement::Body(_, body) => body.size(),
            Statement::If { yes, no, .. } => yes.1.size() + no.1.size(),
            Statement::Join(_) | Statement::Or(..) => 0,
        };
        left = left.saturating_sub(1 + bodies);
        statements.push(statement);
    }
    let result = if below(rng, 4) == 0 { below(rng, statements.len() + 1) } else { statements.len() };
    Graph { statements, result }
}

/// A pipeline that shrinks, one candidate at a time.
#[derive(Debug)]
pub struct Shrinking {
    /// The last accepted tree.
    accepted: Pipe,
    candidates: std::vec::IntoIter<Pipe>,
    trying: Option<Pipe>,
}

impl Shrinking {
    fn new(tree: Pipe) -> Self {
        let candidates = tree.simpler().into_iter();
        Shrinking { accepted: tree, candidates, trying: None }
    }
}

impl ValueTree for Shrinking {
    type Value = Pipe;

    fn current(&self) -> Pipe {
        self.trying.as_ref().unwrap_or(&self.accepted).clone()
    }

    fn simplify(&mut self) -> bool {
        if let Some(tried) = self.trying.take() {
            *self = Shrinking::new(tried);
        }
        self.trying = self.candidates.next();
        self.trying.is_some()
    }

    fn complicate(&mut self) -> bool {
        if self.trying.is_none() {
            return false;
        }
        // Without another candidate this is the accepted tree again. That also counts as a change, so that the caller
        // continues with other parts of the case.
        self.trying = self.candidates.next();
        true
    }
}
