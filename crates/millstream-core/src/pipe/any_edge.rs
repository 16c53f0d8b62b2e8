use super::combinator;
use crate::plan::{Describe, Port};
use crate::shape::ItemShape;
use crate::{AnyEdge, Arrow};
use std::marker::PhantomData;

/// The same slots, on an edge whose shape is not in its type. There is no stage.
pub struct ToAnyEdge<A>(PhantomData<fn() -> A>);
combinator!(ToAnyEdge<A>: KeepsClock Quiet Shardable Determinate; through :);

impl<A> ToAnyEdge<A> {
    pub(crate) fn new() -> Self {
        ToAnyEdge(PhantomData)
    }
}

impl<A: ItemShape> Arrow for ToAnyEdge<A> {
    type In = A;
    type Out = AnyEdge<A::Item>;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input
    }
}
