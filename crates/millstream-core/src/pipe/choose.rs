//! Choices route nothing. The two bodies of `choose` and `merge` read the same edge, each through a lens that shows it
//! the values of its own lane, and the numbers of the other lane as empty.
//!
//! The outputs of the bodies are read side by side again; at most one of the two is filled at a number. There is no
//! router and no merger, no value is copied, and the output has the order of the input. The density of the two
//! together is `Density::Or`. On rings, the two bodies can even share one output ring (`lane_stage.rs` in
//! `millstream-exec`).
//!
//! `swap`, `fork`, `distribute`, `firsts`, `seconds`, `lefts`, `rights` and `dead_end` are lenses alone: they make no
//! stage and no ring.

use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Choice, Lens, Projected, Shape, lens};
use std::marker::PhantomData;

/// The lanes of a choice, each through its own body: `+++`.
pub struct Choose<A, P, Q> {
    /// The body of the left lane.
    pub left: P,
    /// The body of the right lane.
    pub right: Q,
    shape: PhantomData<fn() -> A>,
}
combinator!(Choose<A, P, Q>: ; through P Q: KeepsClock Quiet Shardable Determinate);

impl<A, P, Q> Choose<A, P, Q> {
    pub(crate) fn new(left: P, right: Q) -> Self {
        Choose { left, right, shape: PhantomData }
    }
}

impl<A: Shape, P, Q> Arrow for Choose<A, P, Q>
where
    lens::Left: Lens<A>,
    lens::Right: Lens<A>,
    P: Arrow<In = Projected<A, lens::Left>>,
    Q: Arrow<In = Projected<A, lens::Right>>,
{
    type In = A;
    type Out = Choice<P::Out, Q::Out>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let right = input.clone();
        plan.lanes("choose", |plan| self.left.describe(input, plan), |plan| self.right.describe(right, plan))
    }
}
