/// The items of `ToOwnedItem` for a shape whose values are those of another one.
macro_rules! owned_as {
    ($of:ty) => {
        type Owned = <$of as ToOwnedItem>::Owned;
        fn to_owned_item(value: Self::Ref<'_>) -> Self::Owned {
            <$of as ToOwnedItem>::to_owned_item(value)
        }
        #[inline]
        fn eq_owned(owned: &Self::Owned, value: Self::Ref<'_>) -> bool
        where
            Self::Owned: PartialEq,
        {
            <$of as ToOwnedItem>::eq_owned(owned, value)
        }
        #[inline]
        fn cmp_owned(owned: &Self::Owned, value: Self::Ref<'_>) -> std::cmp::Ordering
        where
            Self::Owned: Ord,
        {
            <$of as ToOwnedItem>::cmp_owned(owned, value)
        }
    };
}

mod any_edge;
mod flat;
mod lends;
pub mod lens;
mod part;
mod rearranged;
mod side_by_side;
mod text;

pub use any_edge::AnyEdge;
pub use flat::{Flat, Tuple};
pub use lends::{ItemShape, Lends};
pub use lens::{ChoiceShape, Lens, PairShape};
pub use part::{Maybe, Part, ShownBy, Shows};
pub use rearranged::{Distributed, Nothing, Partitioned, Swapped, Twice};
pub use side_by_side::{Choice, Merged, Otherwise, Pair, SameItem, SideBySide};
pub use text::{OfPieces, Text};

use crate::{Dense, Density, Sparse};
use std::{any::Any, cmp::Ordering, fmt, marker::PhantomData};

/// What can flow on an edge: anything that can be shared between threads. Nothing to implement.
#[diagnostic::on_unimplemented(
    message = "values of type `{Self}` cannot flow on an edge: they are not `Send + Sync`",
    label = "another thread may read this `{Self}`",
    note = "write `Arc` for `Rc`, a `Mutex` or an atomic for a `RefCell` or a `Cell`, and `dyn Trait + Send + Sync` for `dyn Trait`"
)]
pub trait Item: Send + Sync + 'static {}
#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Item for T {}

/// The shape of an edge, as a type.
///
/// A shape defines what a stage borrows from one slot, and whether slots can be empty. A deployment
/// ([`On`](crate::On)) decides where the slots are stored.
pub trait Shape: Sized + 'static {
    /// What a stage reads from a filled slot: a reference, or a tuple of references. Never a copy of a value.
    type Ref<'a>: Copy;
    /// Whether slots can be empty.
    type Density: Density;
    /// Bytes that one number takes on this edge, without what its values own on the heap.
    const BYTES: usize;

    /// The same for a shorter time.
    #[doc(hidden)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s>;

    /// What a stage reads from a slot that has this value; none if slots have no such values.
    #[doc(hidden)]
    #[inline(always)]
    fn ref_to<T: Item>(_: &T) -> Option<Self::Ref<'_>> {
        None
    }
}

/// A shape whose values can be cloned out of their slots, for stages and sinks that keep a value longer than its slot:
/// collected results, [`delay`](crate::Arrow::delay).
pub trait ToOwnedItem: Shape {
    /// The owned value of a slot.
    type Owned: Item;
    /// Clones a value out of its slot.
    fn to_owned_item(value: Self::Ref<'_>) -> Self::Owned;
    /// Whether a slot holds a value equal to `owned`. Clones the slot's value if the shape cannot compare it in place.
    fn eq_owned(owned: &Self::Owned, value: Self::Ref<'_>) -> bool
    where
        Self::Owned: PartialEq,
    {
        *owned == Self::to_owned_item(value)
    }
    /// How a value compares to the one that a slot holds. Clones that one where the shape cannot compare it in its
    /// slot.
    fn cmp_owned(owned: &Self::Owned, value: Self::Ref<'_>) -> Ordering
    where
        Self::Owned: Ord,
    {
        owned.cmp(&Self::to_owned_item(value))
    }
}

/// The parameters of a shape, without values of them.
pub(crate) type Phantom<T> = PhantomData<fn() -> T>;

/// One ring of `T`.
pub struct Val<T, D = Dense>(Phantom<(T, D)>);

/// An edge after a filter: the same slots, some of them masked. Nothing is copied.
pub struct Filtered<F>(Phantom<F>);

/// A part of every slot of an edge, chosen by a [`Lens`]. Nothing is copied.
pub struct Projected<F, L>(Phantom<(F, L)>);

impl<T: Item, D: Density> Shape for Val<T, D> {
    type Ref<'a> = &'a T;
    type Density = D;
    const BYTES: usize = size_of::<D::Slot<T>>();

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        value
    }

    #[inline(always)]
    fn ref_to<U: Item>(value: &U) -> Option<&T> {
        (value as &dyn Any).downcast_ref()
    }
}

impl<F: Shape> Shape for Filtered<F> {
    type Ref<'a> = F::Ref<'a>;
    type Density = Sparse;
    const BYTES: usize = F::BYTES + size_of::<bool>();

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        F::shorten(value)
    }
}

impl<F: Shape, L: Lens<F>> Shape for Projected<F, L> {
    type Ref<'a> = <L::Target as Shape>::Ref<'a>;
    type Density = L::Part<F::Density>;
    const BYTES: usize = F::BYTES;

    #[inline(always)]
    fn shorten<'s, 'l: 's>(value: Self::Ref<'l>) -> Self::Ref<'s> {
        <L::Target as Shape>::shorten(value)
    }
}

/// [`ToOwnedItem`] for a shape whose slots lend a `&T`: `T`'s own `Clone`, `PartialEq` and `Ord`.
macro_rules! owns_its_item {
    ([$($parameters:tt)*] $shape:ty) => {
        impl<T: Item + Clone, $($parameters)*> ToOwnedItem for $shape {
            type Owned = T;
            fn to_owned_item(value: &T) -> T {
                value.clone()
            }
            #[inline]
            fn eq_owned(owned: &T, value: &T) -> bool
            where
                T: PartialEq,
            {
                owned == value
            }
            #[inline]
            fn cmp_owned(owned: &T, value: &T) -> Ordering
            where
                T: Ord,
            {
                owned.cmp(value)
            }
        }
    };
}
use owns_its_item;
owns_its_item!([D: Density] Val<T, D>);

impl<F: ToOwnedItem> ToOwnedItem for Filtered<F> {
    owned_as!(F);
}

impl<F: Shape, L: Lens<F>> ToOwnedItem for Projected<F, L>
where
    L::Target: ToOwnedItem,
{
    owned_as!(L::Target);
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
shape_debug!(Val<T, D>, Pair<A, B>, Choice<A, B>, Merged<A, B>, Otherwise<A, B>, Filtered<F>, Projected<F, L>);
use shape_debug;
