//! Bounds that leave no type to go on with where they do not hold.
//!
//! After a bound that does not hold, the compiler goes on with the type that the method would return, and reports that
//! some later method does not exist for it. Each of these bounds names that type. Where it does not hold there is no
//! such type, and so one message. For that, each has two implementations, the second for nothing: with one alone, the
//! compiler takes it, and only then looks whether it holds.
//!
//! A type that the compiler does not know yet must not hold it up: `pipeline().map(|x| *x).map(..)` says only later
//! what it reads. So the compiler waits only for the type of the stage's function. If it does not know then what the
//! function makes, it takes the first implementation.

use super::Follows;
use crate::{Arrow, Item, Shape, ToOwnedItem};

/// How a bound holds: always this way.
#[derive(Debug)]
pub enum Holds {}

/// How no bound holds.
#[derive(Debug)]
pub enum NeverHolds {}

/// Of no type.
pub trait OfNone {}

/// A pipeline after which a stage with the function `F` can make values of type `B`, an [`Item`]. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "values of type `{B}` cannot flow on an edge: they are not `Send + Sync`",
    label = "another thread may read this `{B}`",
    note = "write `Arc` for `Rc`, a `Mutex` or an atomic for a `RefCell` or a `Cell`, and `dyn Trait + Send + Sync` for `dyn Trait`"
)]
pub trait MakesItems<F, B, By> {
    /// `T`.
    type Made<T>;
    /// Returns its argument.
    fn making<T>(stage: T) -> Self::Made<T>;
}

/// A pipeline after which a stage with the function `F` can keep a state of type `S`. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`{S}` cannot be the state of a stage: write `#[derive(Clone)]` at it, and let threads share what is in it",
    label = "this is to be its state, a `{S}`",
    note = "every run begins with a clone of the state",
    note = "write `Arc` for `Rc`, and the value itself for a `Cell` or a `RefCell`: the function gets `&mut` of it"
)]
pub trait KeepsState<S, F, By> {
    /// `T`.
    type Made<T>;
    /// Returns its argument.
    fn keeping<T>(stage: T) -> Self::Made<T>;
}

/// A pipeline. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "what follows a pipeline is a pipeline, and this is a `{Self}`",
    label = "this is no pipeline",
    note = "a function that returns stages is called: `.then(stages())`, and not `.then(stages)`",
    note = "a function of a value is a stage of its own: `.map(f)`"
)]
pub trait IsPipeline<By>: Sized {
    /// This.
    type Pipeline: Arrow;
    /// Returns its argument.
    fn pipeline(self) -> Self::Pipeline;
}

#[diagnostic::do_not_recommend]
impl<P: Arrow> IsPipeline<Holds> for P {
    type Pipeline = P;
    fn pipeline(self) -> P {
        self
    }
}

#[diagnostic::do_not_recommend]
impl<P: OfNone + Arrow> IsPipeline<NeverHolds> for P {
    type Pipeline = P;
    fn pipeline(self) -> P {
        self
    }
}

/// The shape of an edge whose values can be cloned; the compiler finds `Lent`, what its slots lend. Nothing to
/// implement.
#[diagnostic::on_unimplemented(
    message = "this stage clones its values: write `#[derive(Clone)]` at the type of what it gets here, `{Lent}`",
    label = "this clones every `{Lent}`",
    note = "or make something of each value before this stage that is `Clone`: `.map(|x| ..)`, or an `Arc`"
)]
pub trait ClonesItems<Lent, By>: ToOwnedItem<Owned: Clone> {
    /// `T`.
    type Made<T>;
    /// Returns its argument.
    fn cloning<T>(stage: T) -> Self::Made<T>;
}

/// Implements a bound where its condition holds, and once more for nothing.
macro_rules! holds {
    ($made:ident: [$($generics:tt)*] $bound:ident<$($of:ident),*>, $known:ident, $($holds:tt)+) => {
        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $bound<$($of,)* Holds> for P
        where
            $($holds)+,
        {
            type Made<Stage> = Stage;
            fn $made<Stage>(stage: Stage) -> Stage {
                stage
            }
        }

        #[diagnostic::do_not_recommend]
        impl<$($generics)*> $bound<$($of,)* NeverHolds> for P
        where
            $known: OfNone,
            $($holds)+,
        {
            type Made<Stage> = Stage;
            fn $made<Stage>(stage: Stage) -> Stage {
                stage
            }
        }
    };
}
holds!(making: [P, F, B] MakesItems<F, B>, F, B: Item);
holds!(keeping: [P, F, S] KeepsState<S, F>, F, S: Item + Clone);
holds!(cloning: [P, L] ClonesItems<L>, P, P: Shape + ToOwnedItem<Owned: Clone>);

/// What a stage of items `B` is, after the pipeline `P`: `Stage`.
pub type OfItems<P, F, B, By, Stage> = <P as MakesItems<F, B, By>>::Made<Stage>;

/// What a stage with a state `S` is, after the pipeline `P`: `Stage`.
pub type OfState<P, S, F, By, Stage> = <P as KeepsState<S, F, By>>::Made<Stage>;

/// What a stage is that clones the values of an edge of shape `A`: `Stage`.
pub type OfClones<'x, A, By, Stage> = <A as ClonesItems<<A as Shape>::Ref<'x>, By>>::Made<Stage>;

/// A [`Then`](super::Then) of the pipeline `P`, which writes `Written`, and `Q`.
pub type After<P, Q, Written, By> =
    <<Q as IsPipeline<By>>::Pipeline as Follows<Written, <<Q as IsPipeline<By>>::Pipeline as Arrow>::In>>::After<P>;
