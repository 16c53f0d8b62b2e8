mod beside;
mod lens;
mod rearranged;
mod text;

pub use beside::{Choice, Like, OneOf, Pair, SideBySide};
pub use lens::{Fst, Lens, Lft, Rgt, Snd};
pub use rearranged::{Distributed, Nothing, Swapped, Twice};
pub use text::{OfPieces, Text};

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
    /// Whether a slot holds this value. Clones it where the shape cannot compare it in its slot.
    fn is(owned: &Self::Owned, value: Self::Ref<'_>) -> bool
    where
        Self::Owned: PartialEq,
    {
        *owned == Self::own(value)
    }
}

/// What a shape is made of, without values of it.
type Shape<T> = PhantomData<fn() -> T>;

/// One ring of `T`.
pub struct Val<T, D = Full>(Shape<(T, D)>);

/// An edge behind a filter: the same slots, some of them masked. Nothing is copied.
pub struct Masked<F>(Shape<F>);

/// A part of every slot of an edge, chosen by a [`Lens`]. Nothing is copied.
pub struct Seen<F, L>(Shape<(F, L)>);

impl<T: Event, D: Density> Flow for Val<T, D> {
    type Ref<'a> = &'a T;
    type Density = D;
    const BYTES: usize = size_of::<D::Slot<T>>();
}

impl<F: Flow> Flow for Masked<F> {
    type Ref<'a> = F::Ref<'a>;
    type Density = Holed;
    const BYTES: usize = F::BYTES + size_of::<bool>();
}

impl<F: Flow, L: Lens<F>> Flow for Seen<F, L> {
    type Ref<'a> = <L::Target as Flow>::Ref<'a>;
    type Density = L::Part<F::Density>;
    const BYTES: usize = F::BYTES;
}

impl<T: Event + Clone, D: Density> Own for Val<T, D> {
    type Owned = T;
    fn own(value: &T) -> T {
        value.clone()
    }
    #[inline]
    fn is(owned: &T, value: &T) -> bool
    where
        T: PartialEq,
    {
        owned == value
    }
}

impl<F: Own> Own for Masked<F> {
    type Owned = F::Owned;
    fn own(value: Self::Ref<'_>) -> Self::Owned {
        F::own(value)
    }
    #[inline]
    fn is(owned: &F::Owned, value: Self::Ref<'_>) -> bool
    where
        F::Owned: PartialEq,
    {
        F::is(owned, value)
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
    #[inline]
    fn is(owned: &Self::Owned, value: Self::Ref<'_>) -> bool
    where
        Self::Owned: PartialEq,
    {
        <L::Target as Own>::is(owned, value)
    }
}

macro_rules! shape_debug {
    ($($shape:ident<$($parameter:ident),*>),*) => {$(
        impl<$($parameter),*> fmt::Debug for $shape<$($parameter),*> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(std::any::type_name::<Self>())
            }
        }
    )*};
}
shape_debug!(Val<T, D>, Pair<A, B>, Choice<A, B>, OneOf<A, B>, Masked<F>, Seen<F, L>);
