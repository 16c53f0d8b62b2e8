use super::combinator;
use crate::plan::{Describe, Port};
use crate::{Arrow, Maybe, Shape};
use std::marker::PhantomData;

/// The same slots, each as an `Option`: filled at every number below END. There is no stage.
pub struct ToMaybe<A>(PhantomData<fn() -> A>);
// It fills slots at which its input is empty, so it is not quiet.
combinator!(ToMaybe<A>: KeepsClock Determinate; through :);

impl<A> ToMaybe<A> {
    pub(crate) fn new() -> Self {
        ToMaybe(PhantomData)
    }
}

impl<A: Shape> Arrow for ToMaybe<A> {
    type In = A;
    type Out = Maybe<A>;

    fn describe(&self, input: Port, _: &mut Describe) -> Port {
        input.at_every_number()
    }
}
