use super::{Map, Then};
use crate::Shape;

/// A function that `map` takes on an edge of shape `A`: of a reference to each item, of any lifetime. Nothing to
/// implement, and `By` is found by the compiler.
#[diagnostic::on_unimplemented(
    message = "`map` does not take this function: it is not one of a reference to each item of `{A}`, of any lifetime",
    label = "it takes something else, or references of one lifetime only",
    note = "a closure that has a name says the type of its argument: `let add = |x: &u64| x + 1`, and not `|x| x + 1`"
)]
pub trait MapFn<A: Shape, B, By>: for<'a> Fn(A::Ref<'a>) -> B {
    /// The pipeline `P`, and the function applied to its outputs.
    type Mapped<P>;
    /// Applies the function to the outputs of `first`.
    fn after<P>(self, first: P) -> Self::Mapped<P>;
}

/// A function that takes references of any lifetime.
#[derive(Debug)]
pub enum AnyLifetime {}

/// What no function is. With a second way to be a [`MapFn`], the compiler looks at once which of them holds, and
/// reports at `map` that none does; with one alone it goes on, and reports that some later method does not exist.
#[derive(Debug)]
pub enum NoFunction {}

/// Of no type.
pub trait Uncallable {}

#[diagnostic::do_not_recommend]
impl<A: Shape, B, F: for<'a> Fn(A::Ref<'a>) -> B> MapFn<A, B, AnyLifetime> for F {
    type Mapped<P> = Then<P, Map<A, F, B>>;
    fn after<P>(self, first: P) -> Self::Mapped<P> {
        Then::new(first, Map::new(self))
    }
}

#[diagnostic::do_not_recommend]
impl<A: Shape, B, F: Uncallable + for<'a> Fn(A::Ref<'a>) -> B> MapFn<A, B, NoFunction> for F {
    type Mapped<P> = P;
    fn after<P>(self, first: P) -> P {
        first
    }
}
