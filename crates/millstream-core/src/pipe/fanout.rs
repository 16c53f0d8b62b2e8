use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Pair};

/// The same values through two bodies, joined by number: `&&&`.
pub struct Fanout<P, Q> {
    /// The body of the first half.
    pub first: P,
    /// The body of the second half.
    pub second: Q,
}
combinator!(Fanout<P, Q>: ; through P Q: KeepsClock Quiet Shardable Determinate);

impl<P, Q> Fanout<P, Q> {
    pub(crate) fn new(first: P, second: Q) -> Self {
        Fanout { first, second }
    }
}

impl<P: Arrow, Q: Arrow<In = P::In>> Arrow for Fanout<P, Q> {
    type In = P::In;
    type Out = Pair<P::Out, Q::Out>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let second = input.clone();
        plan.join("fanout", |plan| self.first.describe(input, plan), |plan| self.second.describe(second, plan))
    }
}
