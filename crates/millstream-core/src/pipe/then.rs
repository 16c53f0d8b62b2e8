use super::combinator;
use crate::Arrow;
use crate::plan::{Describe, Port};

/// One pipeline after another: `>>>`.
pub struct Then<P, Q> {
    /// The pipeline upstream.
    pub first: P,
    /// The pipeline that reads its output.
    pub second: Q,
}
combinator!(Then<P, Q>: ; through P Q: KeepsClock Quiet Shardable Determinate);

impl<P, Q> Then<P, Q> {
    pub(crate) fn new(first: P, second: Q) -> Self {
        Then { first, second }
    }
}

impl<P: Arrow, Q: Arrow<In = P::Out>> Arrow for Then<P, Q> {
    type In = P::In;
    type Out = Q::Out;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let between = self.first.describe(input, plan);
        self.second.describe(plan.advance(between), plan)
    }
}
