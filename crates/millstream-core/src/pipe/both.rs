use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Lens, Pair, Projected, Shape, lens};
use std::marker::PhantomData;

/// The two halves of a pair, each through its own body: `***`.
pub struct Both<A, P, Q> {
    /// The body of the first half.
    pub first: P,
    /// The body of the second half.
    pub second: Q,
    shape: PhantomData<fn() -> A>,
}
combinator!(Both<A, P, Q>: ; through P Q: KeepsClock Quiet Shardable Determinate);

impl<A, P, Q> Both<A, P, Q> {
    pub(crate) fn new(first: P, second: Q) -> Self {
        Both { first, second, shape: PhantomData }
    }
}

impl<A: Shape, P, Q> Arrow for Both<A, P, Q>
where
    lens::First: Lens<A>,
    lens::Second: Lens<A>,
    P: Arrow<In = Projected<A, lens::First>>,
    Q: Arrow<In = Projected<A, lens::Second>>,
{
    type In = A;
    type Out = Pair<P::Out, Q::Out>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let second = input.clone();
        plan.join("both", |plan| self.first.describe(input, plan), |plan| self.second.describe(second, plan))
    }
}
