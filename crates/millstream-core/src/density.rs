//! The representation of an empty slot. The edge's density, a type, decides it, and nothing else in the project does.
//!
//! An output always has a number; it is not always a write. The density of the output edge says what a stage writes
//! where it leaves a slot empty:
//!
//! | density | edges that have it | an empty slot below END costs |
//! |---|---|---|
//! | [`Dense`] | sources, and `map` of them | there is none |
//! | [`Sparse`] | `filter_map`, `chunks`, ... | the tag of an `Option`: a reader cannot know which numbers are filled |
//! | [`Lane`] | the lanes of a choice, and what keeps the density there | the same tag |
//! | [`AtEnd`] | `fold`, `fold_by`; `map`, `scan`, `delay` and others of them; pairs with such a half | nothing |
//!
//! A filter writes none of these. It writes a mask beside the edge that it masks, one byte at every number, and the
//! values stay where they are.
//!
//! There are four densities and not a boolean because two edges are known better than "any slot may be empty". An
//! `AtEnd` edge is empty at every number below END, so its slot ([`Empty`]) has no size: the same loops write it, read
//! it and make room for it without an instruction and without memory, and only the cursor moves, once a batch. The two
//! lanes of one choice divide its filled numbers between them, so a `merge` of two total bodies on a dense edge is
//! dense again, and the compiler knows it.
//!
//! How two edges combine:
//!
//! | `And`, a pair | `Dense` | `Lane<E>` | `Sparse` | `AtEnd` |
//! |---|---|---|---|---|
//! | `Dense` | `Dense` | `Lane<E>` | `Sparse` | `AtEnd` |
//! | `Lane<D>` | `Lane<D>` | `Lane<D and E>` | `Sparse` | `AtEnd` |
//! | `Sparse` | `Sparse` | `Sparse` | `Sparse` | `AtEnd` |
//! | `AtEnd` | `AtEnd` | `AtEnd` | `AtEnd` | `AtEnd` |
//!
//! `Or`, the two lanes of a choice: `Lane<D>` and `Lane<E>` are `D and E` together, two edges `AtEnd` are `AtEnd`, all
//! others are `Sparse`. A stage that may leave a slot empty makes any edge `Sparse`, whatever it was before.

use crate::Item;
use std::fmt::Debug;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Dense {}
    impl Sealed for super::Sparse {}
    impl Sealed for super::AtEnd {}
    impl<D> Sealed for super::Lane<D> {}
}

/// Whether the slots of an edge can be empty: [`Dense`], [`Sparse`], [`AtEnd`], or [`Lane`] for a lane of a choice.
/// Sealed.
///
/// A dense edge stores `T`, and is read and written on a path without an `Option`. An edge that is filled at END alone
/// stores nothing for the numbers below. The others store `Option<T>`. This trait alone decides how an empty slot is
/// represented.
pub trait Density: sealed::Sealed + Debug + Send + Sync + 'static {
    /// The contents of one slot of the edge.
    type Slot<T: Item>: Item;
    /// The density of a pair: dense if both halves are.
    type And<D: Density>: Density;
    /// The density of two lanes of one choice together: that of the choice if both are a [`Lane`], [`AtEnd`] if both
    /// are, and otherwise sparse.
    type Or<D: Density>: Density;
    /// `And` of a lane of density `D` and this density.
    #[doc(hidden)]
    type AndLane<D: Density>: Density;
    /// `Or` of a lane of density `D` and a lane of this density.
    #[doc(hidden)]
    type OrLane<D: Density>: Density;
    /// The density of a pair whose other half is [`Sparse`].
    #[doc(hidden)]
    type AndSparse: Density;
    /// The density of two lanes of one choice, the other of which is [`AtEnd`].
    #[doc(hidden)]
    type OrAtEnd: Density;
    /// The density of one lane of a choice of this density: [`Lane`], or [`AtEnd`] if the choice is filled at END
    /// alone.
    type OneLane: Density;
    /// True for [`Dense`].
    const DENSE: bool;
    /// True for [`AtEnd`].
    const AT_END: bool = false;
    /// Makes a slot. On an edge that is [`AtEnd`], the slot is one below END.
    ///
    /// # Panics
    ///
    /// If the edge is dense and `value` is `None`, or the edge is filled at END alone and `value` is not `None`: the
    /// stage violates the type of its output.
    fn pack<T: Item>(value: Option<T>) -> Self::Slot<T>;
    /// Borrows the value of a slot.
    fn peek<T: Item>(slot: &Self::Slot<T>) -> Option<&T>;
}

/// Every slot below END holds a value, and END is empty.
#[derive(Clone, Copy, Debug)]
pub enum Dense {}

/// Any slot may be empty, and END may hold a value.
#[derive(Clone, Copy, Debug)]
pub enum Sparse {}

/// Every slot below END is empty, and END may hold a value: the output of [`fold`](crate::Arrow::fold), of
/// [`fold_by`](crate::KeysExt::fold_by), and of the stages that read such an edge alone.
///
/// No memory is written or read for a number below END: a slot has no size, and END's value is stored beside the
/// slots. The numbers advance as on every other edge.
#[derive(Clone, Copy, Debug)]
pub enum AtEnd {}

/// The slot of a number below END on an edge that is filled [`AtEnd`] alone: it has no size.
pub struct Empty<T>(PhantomData<fn() -> T>);

/// The density inside a lane of a choice on an edge of density `D`: filled at all numbers of the lane, and at no
/// others.
///
/// The two lanes of a choice together then have the choice's own density: if neither body leaves a slot empty, the
/// output has no more empty slots than the input. The output of a stage that may leave a slot empty is [`Sparse`],
/// inside a lane as elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Lane<D>(PhantomData<fn() -> D>);

impl Density for Dense {
    type Slot<T: Item> = T;
    type And<D: Density> = D;
    type Or<D: Density> = Sparse;
    type AndLane<D: Density> = Lane<D>;
    type OrLane<D: Density> = Sparse;
    type AndSparse = Sparse;
    type OrAtEnd = Sparse;
    type OneLane = Lane<Dense>;
    const DENSE: bool = true;

    #[inline(always)]
    fn pack<T: Item>(value: Option<T>) -> T {
        match value {
            Some(value) => value,
            None => empty_slot_on_a_dense_edge(),
        }
    }

    #[inline(always)]
    fn peek<T: Item>(slot: &T) -> Option<&T> {
        Some(slot)
    }
}

impl Density for Sparse {
    type Slot<T: Item> = Option<T>;
    type And<D: Density> = D::AndSparse;
    type Or<D: Density> = Sparse;
    type AndLane<D: Density> = Sparse;
    type OrLane<D: Density> = Sparse;
    type AndSparse = Sparse;
    type OrAtEnd = Sparse;
    type OneLane = Lane<Sparse>;
    const DENSE: bool = false;

    #[inline(always)]
    fn pack<T: Item>(value: Option<T>) -> Option<T> {
        value
    }

    #[inline(always)]
    fn peek<T: Item>(slot: &Option<T>) -> Option<&T> {
        slot.as_ref()
    }
}

impl Density for AtEnd {
    type Slot<T: Item> = Empty<T>;
    type And<D: Density> = AtEnd;
    type Or<D: Density> = D::OrAtEnd;
    type AndLane<D: Density> = AtEnd;
    type OrLane<D: Density> = Sparse;
    type AndSparse = AtEnd;
    type OrAtEnd = AtEnd;
    type OneLane = AtEnd;
    const DENSE: bool = false;
    const AT_END: bool = true;

    #[inline(always)]
    fn pack<T: Item>(value: Option<T>) -> Empty<T> {
        if value.is_some() {
            filled_slot_below_end();
        }
        Empty(PhantomData)
    }

    #[inline(always)]
    fn peek<T: Item>(_: &Empty<T>) -> Option<&T> {
        None
    }
}

impl<T> Debug for Empty<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Empty")
    }
}

/// `And` joins two edges inside the same lane, and `Or` joins the two lanes of one choice. An edge may itself be a
/// lane of an inner choice, which leaves out the numbers of the other inner lane.
impl<E: Density> Density for Lane<E> {
    type Slot<T: Item> = Option<T>;
    type And<D: Density> = D::AndLane<E>;
    type Or<D: Density> = D::OrLane<E>;
    type AndLane<D: Density> = Lane<D::And<E>>;
    type OrLane<D: Density> = D::And<E>;
    type AndSparse = Sparse;
    type OrAtEnd = Sparse;
    type OneLane = Lane<Lane<E>>;
    const DENSE: bool = false;

    #[inline(always)]
    fn pack<T: Item>(value: Option<T>) -> Option<T> {
        value
    }

    #[inline(always)]
    fn peek<T: Item>(slot: &Option<T>) -> Option<&T> {
        slot.as_ref()
    }
}

#[cold]
#[inline(never)]
fn empty_slot_on_a_dense_edge() -> ! {
    panic!(
        "an empty slot on a dense edge: a stage that leaves slots empty has the density `Sparse`, or that of its input"
    )
}

#[cold]
#[inline(never)]
fn filled_slot_below_end() -> ! {
    panic!("a filled slot below END on an edge that is filled at END alone: a stage violates the type of its output")
}
