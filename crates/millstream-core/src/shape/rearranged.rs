//! Lenses that rearrange the whole value, or show nothing of it.

use super::{Choice, Item, Lens, Pair, Shape, Val, lens};
use crate::{Density, Sparse};
use either::Either::{Left, Right};

/// A pair with its halves exchanged.
#[derive(Clone, Copy, Debug)]
pub enum Swapped {}

/// A value paired with itself.
#[derive(Clone, Copy, Debug)]
pub enum Twice {}

/// A pair whose second half is a choice, as a choice of two pairs.
#[derive(Clone, Copy, Debug)]
pub enum Distributed {}

/// A pair of an answer and a value, as a choice: left where the answer is yes, and right where it is no.
#[derive(Clone, Copy, Debug)]
pub enum Partitioned {}

/// Nothing of any value.
#[derive(Clone, Copy, Debug)]
pub enum Nothing {}

#[diagnostic::do_not_recommend]
impl<A: Shape, B: Shape> Lens<Pair<A, B>> for Swapped {
    type Target = Pair<B, A>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, b): <Pair<A, B> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        Some((b, a))
    }
}

#[diagnostic::do_not_recommend]
impl<A: Item, B: Item, X: Density> Lens<Val<(A, B), X>> for Swapped {
    type Target = Pair<Val<B>, Val<A>>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, b): <Val<(A, B), X> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        Some((b, a))
    }
}

/// The two lanes of an edge of choices.
type Lanes<A, F> = Choice<Pair<A, <lens::Left as Lens<F>>::Target>, Pair<A, <lens::Right as Lens<F>>::Target>>;

#[inline(always)]
fn distribute<'a, A: Shape, F: Shape>(a: A::Ref<'a>, choice: F::Ref<'a>) -> Option<<Lanes<A, F> as Shape>::Ref<'a>>
where
    lens::Left: Lens<F>,
    lens::Right: Lens<F>,
{
    match (<lens::Left as Lens<F>>::focus(choice), <lens::Right as Lens<F>>::focus(choice)) {
        (Some(left), _) => Some(Left((a, left))),
        (None, right) => Some(Right((a, right?))),
    }
}

#[diagnostic::do_not_recommend]
impl<A: Shape, F: Shape> Lens<Pair<A, F>> for Distributed
where
    lens::Left: Lens<F>,
    lens::Right: Lens<F>,
{
    type Target = Lanes<A, F>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, choice): <Pair<A, F> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        distribute::<A, F>(a, choice)
    }
}

#[diagnostic::do_not_recommend]
impl<A: Item, E: Item, X: Density> Lens<Val<(A, E), X>> for Distributed
where
    lens::Left: Lens<Val<E>>,
    lens::Right: Lens<Val<E>>,
{
    type Target = Lanes<Val<A>, Val<E>>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, choice): <Val<(A, E), X> as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
        distribute::<Val<A>, Val<E>>(a, choice)
    }
}

#[diagnostic::do_not_recommend]
impl<X: Density, A: Shape> Lens<Pair<Val<bool, X>, A>> for Partitioned {
    type Target = Choice<A, A>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>(
        (is_left, value): <Pair<Val<bool, X>, A> as Shape>::Ref<'a>,
    ) -> Option<<Self::Target as Shape>::Ref<'a>> {
        Some(if *is_left { Left(value) } else { Right(value) })
    }
}

macro_rules! whole {
    ($shape:ty; $($parameter:ident: $bound:path),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($parameter: $bound),*> Lens<$shape> for Twice {
            type Target = Pair<$shape, $shape>;
            type Part<Y: Density> = Y;
            #[inline(always)]
            fn focus<'a>(whole: <$shape as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
                Some((whole, whole))
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($parameter: $bound),*> Lens<$shape> for Nothing {
            type Target = $shape;
            type Part<Y: Density> = Sparse;
            #[inline(always)]
            fn focus<'a>(_: <$shape as Shape>::Ref<'a>) -> Option<<Self::Target as Shape>::Ref<'a>> {
                None
            }
        }
    };
}
whole!(Val<A, X>; A: Item, X: Density);
whole!(Pair<A, B>; A: Shape, B: Shape);
whole!(Choice<A, B>; A: Shape, B: Shape);
