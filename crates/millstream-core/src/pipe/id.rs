use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Shape, Val};
use std::marker::PhantomData;

/// The same values, without a stage.
pub struct Id<A>(PhantomData<fn() -> A>);
combinator!(Id<A>: KeepsClock Quiet Shardable Determinate; through :);

/// The pipeline that passes its input on, on an edge of any shape.
#[must_use]
pub fn id<A: Shape>() -> Id<A> {
    Id(PhantomData)
}

/// The pipeline that passes its input on, on one ring of `T`: the usual start of a pipeline.
#[must_use]
pub fn pipeline<T: crate::Item>() -> Id<Val<T>> {
    id()
}

impl<A: Shape> Arrow for Id<A> {
    type In = A;
    type Out = A;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input
    }
}
