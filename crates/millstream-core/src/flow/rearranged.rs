//! Lenses that see all of a value, or nothing, in another order.

use super::{Choice, Event, Flow, Lens, Lft, Pair, Rgt, Val};
use crate::{Density, Holed};
use either::Either::{Left, Right};

/// A pair, its halves exchanged.
#[derive(Clone, Copy, Debug)]
pub enum Swapped {}

/// Every value twice, as a pair.
#[derive(Clone, Copy, Debug)]
pub enum Twice {}

/// A pair whose second half is a choice, as a choice of two pairs.
#[derive(Clone, Copy, Debug)]
pub enum Distributed {}

/// Nothing of any value.
#[derive(Clone, Copy, Debug)]
pub enum Nothing {}

#[diagnostic::do_not_recommend]
impl<A: Flow, B: Flow> Lens<Pair<A, B>> for Swapped {
    type Target = Pair<B, A>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, b): <Pair<A, B> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        Some((b, a))
    }
}

#[diagnostic::do_not_recommend]
impl<A: Event, B: Event, X: Density> Lens<Val<(A, B), X>> for Swapped {
    type Target = Pair<Val<B>, Val<A>>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, b): <Val<(A, B), X> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        Some((b, a))
    }
}

/// The two lanes of an edge of choices.
type Lanes<A, F> = Choice<Pair<A, <Lft as Lens<F>>::Target>, Pair<A, <Rgt as Lens<F>>::Target>>;

#[inline(always)]
fn distribute<'a, A: Flow, F: Flow>(a: A::Ref<'a>, choice: F::Ref<'a>) -> Option<<Lanes<A, F> as Flow>::Ref<'a>>
where
    Lft: Lens<F>,
    Rgt: Lens<F>,
{
    match (<Lft as Lens<F>>::focus(choice), <Rgt as Lens<F>>::focus(choice)) {
        (Some(left), _) => Some(Left((a, left))),
        (None, right) => Some(Right((a, right?))),
    }
}

#[diagnostic::do_not_recommend]
impl<A: Flow, F: Flow> Lens<Pair<A, F>> for Distributed
where
    Lft: Lens<F>,
    Rgt: Lens<F>,
{
    type Target = Lanes<A, F>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, choice): <Pair<A, F> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        distribute::<A, F>(a, choice)
    }
}

#[diagnostic::do_not_recommend]
impl<A: Event, E: Event, X: Density> Lens<Val<(A, E), X>> for Distributed
where
    Lft: Lens<Val<E>>,
    Rgt: Lens<Val<E>>,
{
    type Target = Lanes<Val<A>, Val<E>>;
    type Part<D: Density> = D;
    #[inline(always)]
    fn focus<'a>((a, choice): <Val<(A, E), X> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
        distribute::<Val<A>, Val<E>>(a, choice)
    }
}

macro_rules! whole {
    ($shape:ty; $($parameter:ident: $bound:path),*) => {
        #[diagnostic::do_not_recommend]
        impl<$($parameter: $bound),*> Lens<$shape> for Twice {
            type Target = Pair<$shape, $shape>;
            type Part<Y: Density> = Y;
            #[inline(always)]
            fn focus<'a>(whole: <$shape as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                Some((whole, whole))
            }
        }
        #[diagnostic::do_not_recommend]
        impl<$($parameter: $bound),*> Lens<$shape> for Nothing {
            type Target = $shape;
            type Part<Y: Density> = Holed;
            #[inline(always)]
            fn focus<'a>(_: <$shape as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                None
            }
        }
    };
}
whole!(Val<A, X>; A: Event, X: Density);
whole!(Pair<A, B>; A: Flow, B: Flow);
whole!(Choice<A, B>; A: Flow, B: Flow);
