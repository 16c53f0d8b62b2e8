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

/// A pipeline that reads the edge `Read`, after one that writes the edge `Written`: they are the same. Nothing to
/// implement.
#[diagnostic::on_unimplemented(
    message = "a pipeline that reads `{Read}` cannot follow one that writes `{Written}`",
    label = "this pipeline reads `{Read}`",
    note = "a function whose pipeline follows any edge is `fn f<E: Edge<A>>() -> impl Stage<E, B>`, and begins with `id::<E>()`",
    note = "a `BoxStage<A, B>` follows `.any_edge()`, and a box"
)]
pub trait Follows<Written, Read>: Sized {
    /// A [`Then`]. If this does not follow, there is no such type, and so no more mistakes in the methods that follow.
    type After<P>;
    /// This, after `first`.
    fn after<P>(self, first: P) -> Self::After<P>;
}

impl<E, Q: Arrow<In = E>> Follows<E, E> for Q {
    type After<P> = Then<P, Q>;
    fn after<P>(self, first: P) -> Then<P, Q> {
        Then::new(first, self)
    }
}
