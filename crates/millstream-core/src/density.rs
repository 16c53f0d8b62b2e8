use crate::Event;
use std::fmt::Debug;
use std::marker::PhantomData;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Full {}
    impl Sealed for super::Holed {}
    impl<D> Sealed for super::Lane<D> {}
}

/// Whether the slots of an edge can be empty: [`Full`], [`Holed`], or, of a choice's lane, [`Lane`]. Sealed.
///
/// A full edge stores `T`, and is read and written on a path without an `Option` in it. The others store
/// `Option<T>`. How an empty slot is represented is decided here and nowhere else.
pub trait Density: sealed::Sealed + Debug + Send + Sync + 'static {
    /// What one slot of the edge stores.
    type Slot<T: Event>: Event;
    /// The density of a pair: full where both halves are.
    type And<D: Density>: Density;
    /// The density of two lanes of one choice together: what the choice's was where both are a [`Lane`], holed elsewhere.
    type Or<D: Density>: Density;
    /// This density behind a lane of one of density `D`.
    #[doc(hidden)]
    type AndLane<D: Density>: Density;
    /// The two lanes of a choice of density `D` together, when this is the density of the other one.
    #[doc(hidden)]
    type OrLane<D: Density>: Density;
    /// True for [`Full`].
    const FULL: bool;
    /// Makes a slot.
    ///
    /// # Panics
    ///
    /// If the edge is full and `value` is `None`: a stage that broke its own type.
    fn pack<T: Event>(value: Option<T>) -> Self::Slot<T>;
    /// Looks into a slot.
    fn peek<T: Event>(slot: &Self::Slot<T>) -> Option<&T>;
}

/// Every slot below END holds a value, and END is empty.
#[derive(Clone, Copy, Debug)]
pub enum Full {}

/// Any slot may be empty, and END may hold a value.
#[derive(Clone, Copy, Debug)]
pub enum Holed {}

/// Inside a lane of a choice on an edge of density `D`: filled at all numbers of the lane and at no other one.
///
/// What the two lanes of a choice give together has the choice's own density then: two bodies that leave nothing out
/// make no holes. A stage that may leave a slot empty gives [`Holed`], inside a lane as elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Lane<D>(PhantomData<fn() -> D>);

impl Density for Full {
    type Slot<T: Event> = T;
    type And<D: Density> = D;
    type Or<D: Density> = Holed;
    type AndLane<D: Density> = Lane<D>;
    type OrLane<D: Density> = Holed;
    const FULL: bool = true;

    #[inline(always)]
    fn pack<T: Event>(value: Option<T>) -> T {
        match value {
            Some(value) => value,
            None => empty_slot_on_a_full_edge(),
        }
    }

    #[inline(always)]
    fn peek<T: Event>(slot: &T) -> Option<&T> {
        Some(slot)
    }
}

impl Density for Holed {
    type Slot<T: Event> = Option<T>;
    type And<D: Density> = Holed;
    type Or<D: Density> = Holed;
    type AndLane<D: Density> = Holed;
    type OrLane<D: Density> = Holed;
    const FULL: bool = false;

    #[inline(always)]
    fn pack<T: Event>(value: Option<T>) -> Option<T> {
        value
    }

    #[inline(always)]
    fn peek<T: Event>(slot: &Option<T>) -> Option<&T> {
        slot.as_ref()
    }
}

/// Whatever stands inside one lane comes from that lane's edge, so two lanes that meet are of the same one in `And`, and of
/// the two of one choice in `Or`; but one of them may be a lane within it, which leaves out what its sister has.
impl<E: Density> Density for Lane<E> {
    type Slot<T: Event> = Option<T>;
    type And<D: Density> = D::AndLane<E>;
    type Or<D: Density> = D::OrLane<E>;
    type AndLane<D: Density> = Lane<D::And<E>>;
    type OrLane<D: Density> = D::And<E>;
    const FULL: bool = false;

    #[inline(always)]
    fn pack<T: Event>(value: Option<T>) -> Option<T> {
        value
    }

    #[inline(always)]
    fn peek<T: Event>(slot: &Option<T>) -> Option<&T> {
        slot.as_ref()
    }
}

#[cold]
#[inline(never)]
fn empty_slot_on_a_full_edge() -> ! {
    panic!("an empty slot on a full edge: a stage broke its type")
}
