use super::{Id, combinator};
use crate::plan::{Describe, Port};
use crate::{Arrow, Lens, Projected, Shape};
use std::marker::PhantomData;

/// The same slots through a [`Lens`], without a stage: the next stage reads the same ring.
pub struct Project<A, L> {
    shape: PhantomData<fn() -> (A, L)>,
}
combinator!(Project<A, L>: KeepsClock Quiet Shardable Determinate; through :);

impl<A, L> Project<A, L> {
    pub(crate) fn new() -> Self {
        Project { shape: PhantomData }
    }
}

impl<A: Shape, L: Lens<A>> Arrow for Project<A, L> {
    type In = A;
    type Out = Projected<A, L>;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input
    }
}

/// One half of a pair or one lane of a choice, unchanged: the input of a body for it.
pub type Projection<A, L> = Id<Projected<A, L>>;
