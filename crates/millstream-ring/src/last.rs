//! END is a slot like the others: the cursor counts it, so the cursor of an ended ring of L numbers is L + 1.
//!
//! The storage of END depends on the density of the edge:
//!
//! - Dense: END is empty by type, and takes no slot.
//! - Sparse: END has a slot, so a fold's answer travels as any other value does. A mask's END has a slot if the masked
//!   edge can hold a value at END.
//! - `AtEnd`: the slots have no size, so END's value is boxed once a run and kept beside them. Its type is erased only
//!   there, since a ring is generic over its slot, which is not the value. A checked downcast brings the type back. The
//!   box is dropped with the ring. Such a ring has a capacity like the others, so a fold gets no further ahead of its
//!   readers than any other stage.
//!
//! `end` and `end_slot` are stored before the cursor that shows END, so a reader that sees that cursor knows both.

use crate::view::Beside;
use millstream_core::{Density, Item};

/// The content of END: a slot like the others, or a value beside them on an edge that is filled only [at
/// END](millstream_core::AtEnd).
pub struct Last<S> {
    pub(crate) slot: Option<S>,
    pub(crate) beside: Option<Beside>,
}

impl<S> Last<S> {
    /// END of an edge of density `D`.
    ///
    /// # Panics
    ///
    /// As [`Density::pack`]: if the edge is dense and `value` is `None`.
    #[must_use]
    pub fn of<T: Item, D: Density<Slot<T> = S>>(value: Option<T>) -> Self {
        if D::AT_END {
            Last { slot: None, beside: value.map(|value| Box::new(value) as Beside) }
        } else {
            D::pack(value).into()
        }
    }
}

impl<S> From<S> for Last<S> {
    fn from(slot: S) -> Self {
        Last { slot: Some(slot), beside: None }
    }
}

impl<S> std::fmt::Debug for Last<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (slot, beside) = (self.slot.is_some(), self.beside.is_some());
        f.debug_struct("Last").field("slot", &slot).field("beside", &beside).finish_non_exhaustive()
    }
}
