//! Lenses: which part of a slot an edge shows.

use super::{Choice, Filtered, Item, Merged, Otherwise, Pair, Projected, SameItem, Shape, Val};
use crate::Density;
use either::Either;

/// Chooses a part of the value in a slot of `F`. Through lenses, a tuple in one ring and a pair of rings read the
/// same, and so do an `Either` in one ring and the two lanes of a choice.
#[diagnostic::on_unimplemented(
    message = "the values of `{F}` have no `{Self}`: pairs have `First` and `Second`, and an `Either` has `Left` and `Right`",
    label = "this edge carries something else",
    note = "`fanout`, or a `map` to a tuple, makes pairs for `both`",
    note = "`choose`, or a `map` to an `Either`, makes choices for `choose` and `merge`"
)]
pub trait Lens<F: Shape>: 'static {
    /// The shape of the part; only its references matter.
    type Target: Shape;
    /// The density of the part on an edge of density `D`: `D` if every value has the part, or [one
    /// lane](Density::OneLane) of it if only some values have it.
    type Part<D: Density>: Density;
    /// The part of one value, or nothing if this value does not have it.
    fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>>;
}

/// The first half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum First {}

/// The second half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Second {}

/// The left lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum Left {}

/// The right lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum Right {}

/// A shape of pairs: tuples in one ring, or two edges side by side. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not carry pairs",
    label = "this edge carries something else",
    note = "`fanout`, or a `map` to a tuple, makes pairs for `both`, `first` and `second`"
)]
pub trait PairShape: Shape {
    /// The edge of the first halves.
    type First: Shape;
    /// The edge of the second halves.
    type Second: Shape;
}

#[diagnostic::do_not_recommend]
impl<A: Shape> PairShape for A
where
    First: Lens<A>,
    Second: Lens<A>,
{
    type First = Projected<A, First>;
    type Second = Projected<A, Second>;
}

/// A shape of choices: an `Either` in one ring, or the two lanes of a choice. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not carry an `Either`",
    label = "this edge carries something else",
    note = "`choose`, or a `map` to an `Either`, makes choices for `choose`, `merge`, `left` and `right`"
)]
pub trait ChoiceShape: Shape {
    /// The edge of the left lane.
    type Left: Shape;
    /// The edge of the right lane.
    type Right: Shape;
}

#[diagnostic::do_not_recommend]
impl<A: Shape> ChoiceShape for A
where
    Left: Lens<A>,
    Right: Lens<A>,
{
    type Left = Projected<A, Left>;
    type Right = Projected<A, Right>;
}

macro_rules! lens {
    (
        $lens:ident: $part:ident of ($joined:ident, $one:ty),
        $density:ident => $result:ty, $whole:ident => $both:expr, $single:expr
    ) => {
        #[diagnostic::do_not_recommend]
        impl<A: Shape, B: Shape> Lens<$joined<A, B>> for $lens {
            type Target = $part;
            type Part<$density: Density> = $result;
            #[inline(always)]
            fn focus<'a>($whole: <$joined<A, B> as Shape>::Ref<'a>) -> Option<$part::Ref<'a>> {
                $both
            }
        }
        #[diagnostic::do_not_recommend]
        impl<A: Item, B: Item, X: Density> Lens<Val<$one, X>> for $lens {
            type Target = Val<$part>;
            type Part<$density: Density> = $result;
            #[inline(always)]
            fn focus<'a>($whole: <Val<$one, X> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
                $single
            }
        }
    };
}
lens!(First: A of (Pair, (A, B)), D => D, pair => Some(pair.0), Some(&pair.0));
lens!(Second: B of (Pair, (A, B)), D => D, pair => Some(pair.1), Some(&pair.1));
lens!(Left: A of (Choice, Either<A, B>), D => D::OneLane, either => either.left(), either.as_ref().left());
lens!(Right: B of (Choice, Either<A, B>), D => D::OneLane, either => either.right(), either.as_ref().right());

#[diagnostic::do_not_recommend]
impl<F: Shape, L: Lens<F>> Lens<Filtered<F>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<F>>::focus(whole)
    }
}

#[diagnostic::do_not_recommend]
impl<A: Shape, B: SameItem<A>, L: Lens<A>> Lens<Merged<A, B>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: A::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<A>>::focus(whole)
    }
}

#[diagnostic::do_not_recommend]
impl<A: Shape, B: SameItem<A>, L: Lens<A>> Lens<Otherwise<A, B>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: A::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<A>>::focus(whole)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Shape, K: Lens<F>, L: Lens<K::Target>> Lens<Projected<F, K>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: <K::Target as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        <L as Lens<K::Target>>::focus(whole)
    }
}
