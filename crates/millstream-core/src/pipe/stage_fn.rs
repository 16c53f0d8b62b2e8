//! The functions that stages take.
//!
//! The bound alone, `for<'a> Fn(A::Ref<'a>) -> B`, leads to messages of the compiler about closure signatures, or to
//! one that some later method does not exist.

use crate::Shape;

/// A function of what an edge of shape `A` lends, for any lifetime. Nothing to implement; the compiler finds `Wanted`,
/// what a slot lends, `Taken`, what the function takes, and `By`.
#[diagnostic::on_unimplemented(
    message = "this stage needs a function of `{Wanted}`, and this one takes `{Taken}`",
    label = "this takes `{Taken}`",
    note = "a closure in a variable says what it takes, `|x: {Wanted}| ..`, and not `|x| ..`: the edge lends each value for a short time",
    note = "a function `f` of an owned value is called in a closure: `|x| f(*x)`, or `|x| f(x.clone())`"
)]
pub trait StageFn<A: Shape, Wanted, Taken, B, By>: for<'a> Fn(A::Ref<'a>) -> B {
    /// `T`. If there is no such function, there is no such type either, so that the compiler reports no more mistakes
    /// in the methods that follow.
    type Made<T>;
    /// Returns its argument.
    fn made<T>(stage: T) -> Self::Made<T>;
}

/// A function that takes references of any lifetime.
#[derive(Debug)]
pub enum AnyLifetime {}

/// What no function is. With a second way to be a [`StageFn`], the compiler looks at once which of them holds, and
/// reports at the stage that none does; with one alone it goes on, and reports that some later method does not exist.
#[derive(Debug)]
pub enum NoFunction {}

/// Of no type.
pub trait Uncallable {}

#[diagnostic::do_not_recommend]
impl<A: Shape, W, T, B, F: for<'a> Fn(A::Ref<'a>) -> B> StageFn<A, W, T, B, AnyLifetime> for F {
    type Made<S> = S;
    fn made<S>(stage: S) -> S {
        stage
    }
}

#[diagnostic::do_not_recommend]
impl<A: Shape, W, T, B, F: Uncallable + for<'a> Fn(A::Ref<'a>) -> B> StageFn<A, W, T, B, NoFunction> for F {
    type Made<S> = S;
    fn made<S>(stage: S) -> S {
        stage
    }
}

/// A function that a stage may call on any thread. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "a stage may run on any thread, and this function keeps something of one thread, such as an `Rc` or a `RefCell`",
    label = "this is not `Send + Sync`",
    note = "write `Arc` for `Rc`, and an atomic or a `Mutex` for a `Cell` or a `RefCell`",
    note = "a state that the output depends on belongs in a `scan`: `.scan(state, |state, x| ..)`"
)]
pub trait Threaded<T, B>: Takes<T, B> + Send + Sync + 'static {}
#[diagnostic::do_not_recommend]
impl<T, B, F: Takes<T, B> + Send + Sync + 'static> Threaded<T, B> for F {}

/// A function of a `T`: it tells the compiler what a function takes. It is no `Fn` itself, since the compiler would
/// read from it that a closure takes references of one lifetime. Nothing to implement.
pub trait Takes<T, B> {}

#[diagnostic::do_not_recommend]
impl<T, B, F: Fn(T) -> B> Takes<T, B> for F {}

/// What `F` makes of the stage `S`, on an edge of shape `A`: `S`.
pub type Made<'a, A, F, T, B, By, S> = <F as StageFn<A, <A as Shape>::Ref<'a>, T, B, By>>::Made<S>;
