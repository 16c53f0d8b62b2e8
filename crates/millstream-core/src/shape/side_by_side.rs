use super::{Phantom, Shape, ToOwnedItem};
use crate::{Density, Sparse};
use either::Either::{self, Left, Right};

/// Two edges of one clock, read side by side as one. Nothing is copied: a deployment reads both at every number.
pub trait SideBySide: Shape {
    /// The first edge.
    type First: Shape;
    /// The second edge.
    type Second: Shape;
    /// The value of the two edges at one number, from the value of each.
    fn join<'a>(
        first: Option<<Self::First as Shape>::Ref<'a>>,
        second: Option<<Self::Second as Shape>::Ref<'a>>,
    ) -> Option<Self::Ref<'a>>;
}

/// Two edges side by side, joined by number: filled where both halves are. Nothing is copied.
pub struct Pair<A, B>(Phantom<(A, B)>);

/// The two lanes of a choice side by side: at most one of them is filled at each number. Dense if the choice's edge is
/// dense and each lane fills all of its numbers.
pub struct Choice<A, B>(Phantom<(A, B)>);

/// As [`Choice`], for two lanes with values of one type. The value does not show which lane it came through.
pub struct Merged<A, B>(Phantom<(A, B)>);

/// Two edges with items of one type, as one: the first edge's value, and the second's where the first is empty.
pub struct Otherwise<A, B>(Phantom<(A, B)>);

/// A shape from which a stage borrows the same type as from `F`.
#[diagnostic::on_unimplemented(
    message = "these two edges have items of different types",
    label = "`{Self}` does not carry what `{F}` carries",
    note = "`choose` keeps two types apart, as an `Either`"
)]
pub trait SameItem<F: Shape>: for<'a> Shape<Ref<'a> = <F as Shape>::Ref<'a>> {}
impl<F: Shape, G: for<'a> Shape<Ref<'a> = <F as Shape>::Ref<'a>>> SameItem<F> for G {}

impl<A: Shape, B: Shape> Shape for Pair<A, B> {
    type Ref<'a> = (A::Ref<'a>, B::Ref<'a>);
    type Density = <A::Density as Density>::And<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        let (a, b) = value;
        (A::shorten(a), B::shorten(b))
    }
}

impl<A: Shape, B: Shape> SideBySide for Pair<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        Some((first?, second?))
    }
}

impl<A: ToOwnedItem, B: ToOwnedItem> ToOwnedItem for Pair<A, B> {
    type Owned = (A::Owned, B::Owned);
    fn to_owned_item((a, b): Self::Ref<'_>) -> Self::Owned {
        (A::to_owned_item(a), B::to_owned_item(b))
    }
}

impl<A: Shape, B: Shape> Shape for Choice<A, B> {
    type Ref<'a> = Either<A::Ref<'a>, B::Ref<'a>>;
    type Density = <A::Density as Density>::Or<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        value.map_either(A::shorten, B::shorten)
    }
}

impl<A: Shape, B: Shape> SideBySide for Choice<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        debug_assert!(first.is_none() || second.is_none(), "both lanes of a choice are filled at one number");
        first.map(Left).or(second.map(Right))
    }
}

impl<A: ToOwnedItem, B: ToOwnedItem> ToOwnedItem for Choice<A, B> {
    type Owned = Either<A::Owned, B::Owned>;
    fn to_owned_item(value: Self::Ref<'_>) -> Self::Owned {
        value.map_either(A::to_owned_item, B::to_owned_item)
    }
}

impl<A: Shape, B: SameItem<A>> Shape for Merged<A, B> {
    type Ref<'a> = A::Ref<'a>;
    type Density = <A::Density as Density>::Or<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        A::shorten(value)
    }
}

impl<A: Shape, B: SameItem<A>> SideBySide for Merged<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        debug_assert!(first.is_none() || second.is_none(), "both lanes of a choice are filled at one number");
        first.or(second)
    }
}

impl<A: ToOwnedItem, B: SameItem<A>> ToOwnedItem for Merged<A, B> {
    owned_as!(A);
}

impl<A: Shape, B: SameItem<A>> Shape for Otherwise<A, B> {
    type Ref<'a> = A::Ref<'a>;
    // If one edge is dense, END may still have the other's value.
    type Density = Sparse;
    const BYTES: usize = A::BYTES + B::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        A::shorten(value)
    }
}

impl<A: Shape, B: SameItem<A>> SideBySide for Otherwise<A, B> {
    type First = A;
    type Second = B;
    #[inline(always)]
    fn join<'a>(first: Option<A::Ref<'a>>, second: Option<B::Ref<'a>>) -> Option<Self::Ref<'a>> {
        first.or(second)
    }
}

impl<A: ToOwnedItem, B: SameItem<A>> ToOwnedItem for Otherwise<A, B> {
    owned_as!(A);
}
