use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Lens, Merged, Projected, SameItem, Shape, lens};
use std::marker::PhantomData;

/// The two lanes of a choice, each through its own body, with outputs of one type: `|||`.
pub struct Merge<A, P, Q> {
    /// The body of the left lane.
    pub left: P,
    /// The body of the right lane.
    pub right: Q,
    shape: PhantomData<fn() -> A>,
}
combinator!(Merge<A, P, Q>: ; through P Q: KeepsClock Quiet Shardable Determinate);

impl<A, P, Q> Merge<A, P, Q> {
    pub(crate) fn new(left: P, right: Q) -> Self {
        Merge { left, right, shape: PhantomData }
    }
}

impl<A: Shape, P, Q> Arrow for Merge<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Arrow<In = Projected<A, lens::Left>>,
    Q: Arrow<In = Projected<A, lens::Right>, Out: SameItem<P::Out>>,
{
    type In = A;
    type Out = Merged<P::Out, Q::Out>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let right = input.clone();
        plan.lanes("merge", |plan| self.left.describe(input, plan), |plan| self.right.describe(right, plan))
    }
}
