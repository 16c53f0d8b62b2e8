//! Variants of a tree.

use super::Pipe;

impl Pipe {
    /// The same tree with a [`Pipe::Fail`] before its `place`-th leaf, modulo the number of leaves.
    #[must_use]
    pub fn failing(mut self, place: usize, modulus: i64) -> Pipe {
        let mut left = place % self.leaves();
        self.each_leaf(&mut |leaf| {
            if left == 0 {
                let stage = std::mem::replace(leaf, Pipe::Id);
                *leaf = Pipe::Then(Pipe::Fail { modulus }.into(), stage.into());
            }
            left = left.wrapping_sub(1);
        });
        self
    }

    /// The same tree with the body of each [`Pipe::Feedback`] instead of the loop.
    #[must_use]
    pub fn without_loops(self) -> Pipe {
        let body = |p: Box<Pipe>| Box::new(p.without_loops());
        match self {
            Pipe::Feedback(_, p) => p.without_loops(),
            Pipe::Then(p, q) => Pipe::Then(body(p), body(q)),
            Pipe::Fanout(p, q) => Pipe::Fanout(body(p), body(q)),
            Pipe::FanoutAll(bodies) => Pipe::FanoutAll(bodies.into_iter().map(Pipe::without_loops).collect()),
            Pipe::Both(p, q) => Pipe::Both(body(p), body(q)),
            Pipe::Choose(p, q) => Pipe::Choose(body(p), body(q)),
            Pipe::Merge(p, q) => Pipe::Merge(body(p), body(q)),
            Pipe::Shard(k, p) => Pipe::Shard(k, body(p)),
            Pipe::ShardBy { keys, most, k, body: p } => Pipe::ShardBy { keys, most, k, body: body(p) },
            Pipe::Named(p) => Pipe::Named(body(p)),
            Pipe::Called(name, p) => Pipe::Called(name, body(p)),
            Pipe::Boxed(p) => Pipe::Boxed(body(p)),
            Pipe::Tee(p) => Pipe::Tee(body(p)),
            Pipe::Block(block) => Pipe::Block(block.with_bodies(Pipe::without_loops)),
            leaf => leaf,
        }
    }

    fn leaves(&self) -> usize {
        let mut leaves = 0;
        self.clone().each_leaf(&mut |_| leaves += 1);
        leaves
    }

    fn each_leaf(&mut self, f: &mut impl FnMut(&mut Pipe)) {
        match self {
            Pipe::Then(p, q) | Pipe::Fanout(p, q) | Pipe::Both(p, q) | Pipe::Choose(p, q) | Pipe::Merge(p, q) => {
                p.each_leaf(f);
                q.each_leaf(f);
            }
            Pipe::Shard(_, p) | Pipe::Tee(p) | Pipe::Feedback(_, p) => p.each_leaf(f),
            Pipe::Named(p) | Pipe::Called(_, p) | Pipe::Boxed(p) => p.each_leaf(f),
            Pipe::ShardBy { body, .. } => body.each_leaf(f),
            Pipe::FanoutAll(bodies) => bodies.iter_mut().for_each(|body| body.each_leaf(f)),
            Pipe::Block(block) if block.bodies().next().is_some() => {
                block.bodies_mut().for_each(|body| body.each_leaf(f));
            }
            leaf => f(leaf),
        }
    }
}
