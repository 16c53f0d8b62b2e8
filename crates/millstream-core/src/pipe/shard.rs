use super::combinator;
use crate::Arrow;
use crate::plan::{Describe, Port};

/// A body each of whose stages is run by several tasklets.
pub struct Shard<P> {
    /// The number of tasklets; at least 1.
    pub k: usize,
    /// The body.
    pub body: P,
}
combinator!(Shard<P>: ; through P: KeepsClock Quiet Shardable Determinate);

impl<P> Shard<P> {
    pub(crate) fn new(k: usize, body: P) -> Self {
        assert!(k >= 1, "shard(0, ..): a shard needs at least one tasklet");
        Shard { k, body }
    }
}

impl<P: Arrow> Arrow for Shard<P> {
    type In = P::In;
    type Out = P::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        plan.shard(self.k, |plan| self.body.describe(input, plan))
    }
}
