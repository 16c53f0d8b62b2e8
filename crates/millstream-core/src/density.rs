use crate::Event;
use std::fmt::Debug;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Full {}
    impl Sealed for super::Holed {}
}

/// Whether the slots of an edge can be empty: [`Full`] or [`Holed`]. A type-level boolean; sealed.
///
/// A full edge stores `T`, and is read and written on a path without an `Option` in it. A holed edge stores
/// `Option<T>`. How an empty slot is represented is decided here and nowhere else.
pub trait Density: sealed::Sealed + Debug + Send + Sync + 'static {
    /// What one slot of the edge stores.
    type Slot<T: Event>: Event;
    /// The density of a pair: full where both halves are.
    type And<D: Density>: Density;
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

impl Density for Full {
    type Slot<T: Event> = T;
    type And<D: Density> = D;
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
