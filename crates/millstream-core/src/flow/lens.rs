use super::{Choice, Event, Flow, Like, Masked, OneOf, Pair, Seen, Val};
use crate::Density;
use either::Either;

/// Chooses a part of what a slot of `F` holds, so that a tuple in one ring and a pair of rings read the same, and an
/// `Either` in one ring and the two lanes of a choice.
#[diagnostic::on_unimplemented(
    message = "the values of `{F}` have no `{Self}`: pairs have `Fst` and `Snd`, and an `Either` has `Lft` and `Rgt`",
    label = "this edge carries something else",
    note = "`fanout`, or a `map` to a tuple, makes pairs for `both`",
    note = "`choose`, or a `map` to an `Either`, makes choices for `choose` and `merge`"
)]
pub trait Lens<F: Flow>: 'static {
    /// The shape of the part; only its references matter.
    type Target: Flow;
    /// The density of the part on an edge of density `D`: `D` if every value has the part, [one lane](Density::OneLane) of it
    /// if some have.
    type Part<D: Density>: Density;
    /// The part of one value, or nothing if this value does not have it.
    fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>>;
}

/// The first half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Fst {}

/// The second half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Snd {}

/// The left lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum Lft {}

/// The right lane of a choice.
#[derive(Clone, Copy, Debug)]
pub enum Rgt {}

macro_rules! lens {
    ($lens:ident: $part:ident of ($joined:ident, $one:ty), $density:ident => $result:ty, $whole:ident => $both:expr, $single:expr) => {
        #[diagnostic::do_not_recommend]
        impl<A: Flow, B: Flow> Lens<$joined<A, B>> for $lens {
            type Target = $part;
            type Part<$density: Density> = $result;
            #[inline(always)]
            fn focus<'a>($whole: <$joined<A, B> as Flow>::Ref<'a>) -> Option<$part::Ref<'a>> {
                $both
            }
        }
        #[diagnostic::do_not_recommend]
        impl<A: Event, B: Event, X: Density> Lens<Val<$one, X>> for $lens {
            type Target = Val<$part>;
            type Part<$density: Density> = $result;
            #[inline(always)]
            fn focus<'a>($whole: <Val<$one, X> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                $single
            }
        }
    };
}
lens!(Fst: A of (Pair, (A, B)), D => D, pair => Some(pair.0), Some(&pair.0));
lens!(Snd: B of (Pair, (A, B)), D => D, pair => Some(pair.1), Some(&pair.1));
lens!(Lft: A of (Choice, Either<A, B>), D => D::OneLane, either => either.left(), either.as_ref().left());
lens!(Rgt: B of (Choice, Either<A, B>), D => D::OneLane, either => either.right(), either.as_ref().right());

#[diagnostic::do_not_recommend]
impl<F: Flow, L: Lens<F>> Lens<Masked<F>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        <L as Lens<F>>::focus(whole)
    }
}

#[diagnostic::do_not_recommend]
impl<A: Flow, B: Like<A>, L: Lens<A>> Lens<OneOf<A, B>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: A::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        <L as Lens<A>>::focus(whole)
    }
}

#[diagnostic::do_not_recommend]
impl<F: Flow, K: Lens<F>, L: Lens<K::Target>> Lens<Seen<F, K>> for L {
    type Target = L::Target;
    type Part<D: Density> = L::Part<D>;
    #[inline(always)]
    fn focus<'a>(whole: <K::Target as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        <L as Lens<K::Target>>::focus(whole)
    }
}
