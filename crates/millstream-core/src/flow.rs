use crate::{Density, Full, Holed};
use std::{fmt, marker::PhantomData};

/// What can flow on an edge: anything that can be shared between threads. Nothing to implement.
pub trait Event: Send + Sync + 'static {}
impl<T: Send + Sync + 'static> Event for T {}

/// The shape of an edge, as a type.
///
/// A shape says what a stage borrows from one slot and whether slots can be empty. Where the slots live is the
/// business of a deployment ([`On`](crate::On)).
pub trait Flow: Sized + 'static {
    /// What a stage gets of a filled slot: a reference, or a tuple of references. Never a copy of a value.
    type Ref<'a>: Copy;
    /// Whether slots can be empty.
    type Density: Density;
    /// Bytes that one number takes on this edge, without what its values own on the heap.
    const BYTES: usize;
}

/// A shape whose values can be owned, by cloning them out of their slot. Needed by what outlives the slot: collected
/// results, [`delay`](crate::Arrow::delay).
pub trait Own: Flow {
    /// The owned value of a slot.
    type Owned: Event;
    /// Clones a value out of its slot.
    fn own(value: Self::Ref<'_>) -> Self::Owned;
}

type Shape<T> = PhantomData<fn() -> T>;

/// One ring of `T`.
pub struct Val<T, D = Full>(Shape<(T, D)>);

/// Two edges side by side, joined by number: filled where both halves are. Nothing is copied.
pub struct Pair<A, B>(Shape<(A, B)>);

/// An edge behind a filter: the same slots, some of them masked. Nothing is copied.
pub struct Masked<F>(Shape<F>);

/// A part of every slot of an edge, chosen by a [`Lens`]. Nothing is copied.
pub struct Seen<F, L>(Shape<(F, L)>);

impl<T: Event, D: Density> Flow for Val<T, D> {
    type Ref<'a> = &'a T;
    type Density = D;
    const BYTES: usize = size_of::<D::Slot<T>>();
}

impl<A: Flow, B: Flow> Flow for Pair<A, B> {
    type Ref<'a> = (A::Ref<'a>, B::Ref<'a>);
    type Density = <A::Density as Density>::And<B::Density>;
    const BYTES: usize = A::BYTES + B::BYTES;
}

impl<F: Flow> Flow for Masked<F> {
    type Ref<'a> = F::Ref<'a>;
    type Density = Holed;
    const BYTES: usize = F::BYTES + size_of::<bool>();
}

impl<F: Flow, L: Lens<F>> Flow for Seen<F, L> {
    type Ref<'a> = <L::Target as Flow>::Ref<'a>;
    type Density = L::Density;
    const BYTES: usize = F::BYTES;
}

impl<T: Event + Clone, D: Density> Own for Val<T, D> {
    type Owned = T;
    fn own(value: &T) -> T {
        value.clone()
    }
}

impl<A: Own, B: Own> Own for Pair<A, B> {
    type Owned = (A::Owned, B::Owned);
    fn own((a, b): Self::Ref<'_>) -> Self::Owned {
        (A::own(a), B::own(b))
    }
}

impl<F: Own> Own for Masked<F> {
    type Owned = F::Owned;
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        F::own(value)
    }
}

impl<F: Flow, L: Lens<F>> Own for Seen<F, L>
where
    L::Target: Own,
{
    type Owned = <L::Target as Own>::Owned;
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        <L::Target as Own>::own(value)
    }
}

/// Chooses a part of what a slot of `F` holds, so that a tuple in one ring and a pair of rings read the same.
#[diagnostic::on_unimplemented(
    message = "the values of `{F}` are not pairs, so they have no `{Self}`",
    label = "this edge carries no pairs",
    note = "`fanout`, or a `map` to a tuple, makes pairs"
)]
pub trait Lens<F: Flow>: 'static {
    /// The shape of the part; only its references matter.
    type Target: Flow;
    /// The density of the part: that of `F` if every value has the part.
    type Density: Density;
    /// The part of one value, or nothing if this value does not have it.
    fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>>;
}

/// The first half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Fst {}

/// The second half of a pair.
#[derive(Clone, Copy, Debug)]
pub enum Snd {}

macro_rules! half {
    ($lens:ident, $target:ident, $index:tt) => {
        #[diagnostic::do_not_recommend]
        impl<A: Flow, B: Flow> Lens<Pair<A, B>> for $lens {
            type Target = $target;
            type Density = <Pair<A, B> as Flow>::Density;
            #[inline(always)]
            fn focus<'a>(whole: <Pair<A, B> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                Some(whole.$index)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<A: Event, B: Event, D: Density> Lens<Val<(A, B), D>> for $lens {
            type Target = Val<$target, D>;
            type Density = D;
            #[inline(always)]
            fn focus<'a>(whole: <Val<(A, B), D> as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                Some(&whole.$index)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<F: Flow> Lens<Masked<F>> for $lens
        where
            $lens: Lens<F>,
        {
            type Target = <$lens as Lens<F>>::Target;
            type Density = Holed;
            #[inline(always)]
            fn focus<'a>(whole: F::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                <$lens as Lens<F>>::focus(whole)
            }
        }
        #[diagnostic::do_not_recommend]
        impl<F: Flow, L: Lens<F>> Lens<Seen<F, L>> for $lens
        where
            $lens: Lens<L::Target>,
        {
            type Target = <$lens as Lens<L::Target>>::Target;
            type Density = L::Density;
            #[inline(always)]
            fn focus<'a>(whole: <L::Target as Flow>::Ref<'a>) -> Option<<Self::Target as Flow>::Ref<'a>> {
                <$lens as Lens<L::Target>>::focus(whole)
            }
        }
    };
}
half!(Fst, A, 0);
half!(Snd, B, 1);

macro_rules! shape_debug {
    ($($shape:ident<$($parameter:ident),*>),*) => {$(
        impl<$($parameter),*> fmt::Debug for $shape<$($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::any::type_name::<Self>())
            }
        }
    )*};
}
shape_debug!(Val<T, D>, Pair<A, B>, Masked<F>, Seen<F, L>);
