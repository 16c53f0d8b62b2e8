//! What an edge stores for an empty slot. The edge's density decides it: a type, and no other place in the project.
//!
//! An output always has a number; it is not always a write. The density of the output edge says what a stage writes
//! where it leaves a slot empty:
//!
//! | density | edges that have it | an empty slot below END costs |
//! |---|---|---|
//! | [`Dense`] | sources, and `map` of them | there is none |
//! | [`Sparse`] | `filter_map`, `chunks`, ... | the tag of an `Option`: a reader cannot know which numbers are filled |
//! | [`Lane`] | the lanes of a choice, and what keeps the density there | the same tag |
//! | [`AtEnd`] | `fold`, `fold_by`; `map`, `scan`, `delay`, `inspect`, `shard` of them; pairs with such a half | nothing |
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

/// Whether the slots of an edge can be empty: [`Dense`], [`Sparse`], [`AtEnd`], or, of a choice's lane, [`Lane`]. Sealed.
///
/// A full edge stores `T`, and is read and written on a path without an `Option` in it. One that is filled at END alone
/// stores nothing for the numbers below. The others store `Option<T>`. How an empty slot is represented is decided here
/// and nowhere else.
pub trait Density: sealed::Sealed + Debug + Send + Sync + 'static {
    /// What one slot of the edge stores.
    type Slot<T: Item>: Item;
    /// The density of a pair: full where both halves are.
    type And<D: Density>: Density;
    /// The density of two lanes of one choice together: what the choice's was where both are a [`Lane`], sparse elsewhere.
    type Or<D: Density>: Density;
    /// This density behind a lane of one of density `D`.
    #[doc(hidden)]
    type AndLane<D: Density>: Density;
    /// The two lanes of a choice of density `D` together, when this is the density of the other one.
    #[doc(hidden)]
    type OrLane<D: Density>: Density;
    /// The density of a pair of which the other half is [`Sparse`].
    #[doc(hidden)]
    type AndSparse: Density;
    /// The density of two lanes of one choice of which the other one is [`AtEnd`].
    #[doc(hidden)]
    type OrAtEnd: Density;
    /// The density of one lane of a choice of this density: [`Lane`], and [`AtEnd`] of one that is itself filled at END alone.
    type OneLane: Density;
    /// True for [`Dense`].
    const DENSE: bool;
    /// True for [`AtEnd`].
    const AT_END: bool = false;
    /// Makes a slot; of a number below END where the edge is [`AtEnd`].
    ///
    /// # Panics
    ///
    /// If the edge is full and `value` is `None`, or the edge is filled at END alone and `value` is not `None`: a stage that
    /// broke its own type.
    fn pack<T: Item>(value: Option<T>) -> Self::Slot<T>;
    /// Looks into a slot.
    fn peek<T: Item>(slot: &Self::Slot<T>) -> Option<&T>;
}

/// Every slot below END holds a value, and END is empty.
#[derive(Clone, Copy, Debug)]
pub enum Dense {}

/// Any slot may be empty, and END may hold a value.
#[derive(Clone, Copy, Debug)]
pub enum Sparse {}

/// Every slot below END is empty, and END may hold a value: what [`fold`](crate::Arrow::fold) and
/// [`fold_by`](crate::KeysExt::fold_by) give, and what a stage makes of that alone.
///
/// No memory is written or read for a number below END: a slot has no size, and what END holds lies beside the slots. The
/// numbers advance as on every other edge.
#[derive(Clone, Copy, Debug)]
pub enum AtEnd {}

/// The slot of a number below END on an edge that is filled [`AtEnd`] alone: nothing of a `T`.
pub struct Empty<T>(PhantomData<fn() -> T>);

/// Inside a lane of a choice on an edge of density `D`: filled at all numbers of the lane and at no other one.
///
/// What the two lanes of a choice give together has the choice's own density then: two bodies that leave nothing out
/// make no empty slots. A stage that may leave a slot empty gives [`Sparse`], inside a lane as elsewhere.
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
            None => empty_slot_on_a_full_edge(),
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

/// Whatever stands inside one lane comes from that lane's edge, so two lanes that meet are of the same one in `And`, and of
/// the two of one choice in `Or`; but one of them may be a lane within it, which leaves out what its sister has.
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
fn empty_slot_on_a_full_edge() -> ! {
    panic!("an empty slot on a full edge: a stage broke its type")
}

#[cold]
#[inline(never)]
fn filled_slot_below_end() -> ! {
    panic!("a filled slot below END on an edge that is filled at END alone: a stage broke its type")
}
