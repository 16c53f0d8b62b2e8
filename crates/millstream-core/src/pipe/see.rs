use super::{Id, combinator};
use crate::plan::{Describe, Port};
use crate::{Arrow, Flow, Lens, Seen};
use std::marker::PhantomData;

/// The same slots through a [`Lens`]. No stage: the next one reads the same ring.
pub struct See<A, L> {
    shape: PhantomData<fn() -> (A, L)>,
}
combinator!(See<A, L>: KeepsClock Quiet Stateless Determinate; through :);

impl<A, L> See<A, L> {
    pub(crate) fn new() -> Self {
        See { shape: PhantomData }
    }
}

impl<A: Flow, L: Lens<A>> Arrow for See<A, L> {
    type In = A;
    type Out = Seen<A, L>;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input
    }
}

/// One half of a pair or one lane of a choice, as it is: what a body for it begins with.
pub type Part<A, L> = Id<Seen<A, L>>;
