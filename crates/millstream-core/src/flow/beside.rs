use super::{Flow, Own, Shape};
use crate::Density;
use either::Either::{self, Left, Right};

/// Two edges of one clock, read side by side as one. Nothing is copied: a deployment reads both at every number.
pub trait SideBySide: Flow {
    /// The first edge.
    type First: Flow;
    /// The second edge.
    type Second: Flow;
    /// What the two hold together, from what each holds at one number.
    fn join<'a>(
        first: Option<<Self::First as Flow>::Ref<'a>>,
        second: Option<<Self::Second as Flow>::Ref<'a>>,
    ) -> Option<Self::Ref<'a>>;
}

/// Two edges side by side, joined by number: filled where both halves are. Nothing is copied.
pub struct Pair<A, B>(Shape<(A, B)>);

/// The two lanes of a choice side by side: at each number one of them is filled at most. Full where each lane fills all
/// of its numbers of a full edge.
pub struct Choice<A, B>(Shape<(A, B)>);

/// As [`Choice`], of two lanes with values of one type, which lane a value came through forgotten.
pub struct OneOf<A, B>(Shape<(A, B)>);

/// A shape from which a stage borrows the same type as from `F`.
#[diagnostic::on_unimplemented(
    message = "the two lanes of this `merge` give values of different types",
    label = "`{Self}` does not carry what `{F}` carries",
    note = "`choose` keeps two types apart, as an `Either`"
)]
pub trait Like<F: Flow>: for<'a> Flow<Ref<'a> = <F as Flow>::Ref<'a>> {}
impl<F: Flow, G: for<'a> Flow<Ref<'a> = <F as Flow>::Ref<'a>>> Like<F> for G {}

impl<A: Flow, B: Flow> Flow for Pair<A, B> {
    type Ref<'a> = (A::Ref<'a>, B::Ref<'a>);
    type Density = <A::Density as Density>::And<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;
}

impl<A: Flow, B: Flow> SideBySide for Pair<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        Some((first?, second?))
    }
}

impl<A: Own, B: Own> Own for Pair<A, B> {
    type Owned = (A::Owned, B::Owned);
    fn own((a, b): Self::Ref<'_>) -> Self::Owned {
        (A::own(a), B::own(b))
    }
}

impl<A: Flow, B: Flow> Flow for Choice<A, B> {
    type Ref<'a> = Either<A::Ref<'a>, B::Ref<'a>>;
    type Density = <A::Density as Density>::Or<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;
}

impl<A: Flow, B: Flow> SideBySide for Choice<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        debug_assert!(first.is_none() || second.is_none(), "both lanes of a choice are filled at one number");
        first.map(Left).or(second.map(Right))
    }
}

impl<A: Own, B: Own> Own for Choice<A, B> {
    type Owned = Either<A::Owned, B::Owned>;
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        value.map_either(A::own, B::own)
    }
}

impl<A: Flow, B: Like<A>> Flow for OneOf<A, B> {
    type Ref<'a> = A::Ref<'a>;
    type Density = <A::Density as Density>::Or<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;
}

impl<A: Flow, B: Like<A>> SideBySide for OneOf<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        debug_assert!(first.is_none() || second.is_none(), "both lanes of a choice are filled at one number");
        first.or(second)
    }
}

impl<A: Own, B: Like<A>> Own for OneOf<A, B> {
    type Owned = A::Owned;
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        A::own(value)
    }
}
