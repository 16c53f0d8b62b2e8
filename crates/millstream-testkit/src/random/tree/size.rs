//! How large trees are.

use super::Pipe;

impl Pipe {
    /// The greatest number of tasklets that run one stage: nested shards multiply.
    #[must_use]
    pub fn width(&self) -> usize {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.width().max(q.width())
            }
            Pipe::FanoutAll(bodies) => bodies.iter().map(Pipe::width).max().unwrap_or(1),
            Pipe::Block(block) => block.bodies().map(Pipe::width).max().unwrap_or(1),
            Pipe::Shard(k, p) | Pipe::ShardBy { k, body: p, .. } => k * p.width(),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.width(),
            Pipe::Tee(p) | Pipe::Feedback(_, p) => p.width(),
            _ => 1,
        }
    }

    /// The number of nodes.
    #[must_use]
    pub fn size(&self) -> usize {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                1 + p.size() + q.size()
            }
            Pipe::FanoutAll(bodies) => 1 + bodies.iter().map(Pipe::size).sum::<usize>(),
            Pipe::Block(block) => block.statements.len().max(1) + block.bodies().map(Pipe::size).sum::<usize>(),
            Pipe::Shard(_, p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => 1 + p.size(),
            Pipe::Named(p) | Pipe::Boxed(p) => 1 + p.size(),
            Pipe::Called(_, p) => p.size(),
            Pipe::ShardBy { body, .. } => 1 + body.size(),
            _ => 1,
        }
    }
}
