use crate::view::Beside;
use millstream_core::{Density, Event};

/// What END gets: a slot as the others have, or a value beside them on an edge that is filled
/// [at END](millstream_core::AtEnd) alone.
pub struct Last<S> {
    pub(crate) slot: Option<S>,
    pub(crate) beside: Option<Beside>,
}

impl<S> Last<S> {
    /// END of an edge of density `D`.
    ///
    /// # Panics
    ///
    /// As [`Density::pack`]: if the edge is full and `value` is `None`.
    #[must_use]
    pub fn of<T: Event, D: Density<Slot<T> = S>>(value: Option<T>) -> Self {
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
