//! Clocks: edges that are joined by number share one, and a renumbering stage ends one clock and starts the next.
//!
//! Such stages are `flat_map`, `flatten`, `compact` and `windows_by`, each an [`ExpandKernel`]; `lines`, `words` and their
//! like (`split.rs`), which cut text; and `unordered`. Their outputs are numbered from 0 again. Their types lack the
//! marker `KeepsClock`, so they can be in no body whose output is joined by number. A `tee` takes them, since nothing
//! reads its output. The plan says which clock each ring has.
//!
//! A stage of an [`ExpandKernel`] owns the iterator that it got for a value, and keeps it from one step to the next. So a
//! long or endless iterator blocks no other stage, and the value's slot is released at once. A mark at number N is laid
//! on the new clock at its next number, after all outputs of the values below N are published and before any other.

use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind};
use crate::{Arrow, Item, Shape, Val};
use std::sync::Arc;

/// What a renumbering stage makes of one value after the other: any number of outputs each.
pub trait ExpandKernel: Send + Sync + 'static {
    /// What it reads.
    type In: Shape;
    /// What it gives.
    type Item: Item;
    /// What it gives for one value. It is kept from one step to the next, so it borrows nothing.
    type Values: Iterator<Item = Self::Item> + Send + 'static;
    /// What it keeps from one value to the next.
    type State: Send + 'static;
    /// The combinator's name.
    const NAME: &'static str;
    /// Whether it keeps anything from one value to the next.
    const STATEFUL: bool;
    /// The state before the first value.
    fn start(&self) -> Self::State;
    /// The outputs of a value, END's among them.
    fn expand(&self, state: &mut Self::State, value: <Self::In as Shape>::Ref<'_>) -> Self::Values;
    /// The outputs behind those of the last value.
    fn finish(&self, _: Self::State) -> Option<Self::Values> {
        None
    }
}

/// A new clock: the outputs of an [`ExpandKernel`], numbered afresh.
///
/// It has none of the markers: its output n does not stand at its input's number n.
pub struct Renumber<E> {
    /// What gives the outputs, shared by every deployment.
    pub expand: Arc<E>,
}
combinator!(Renumber<E>: Determinate; through :);

impl<E> Renumber<E> {
    pub(crate) fn new(expand: E) -> Self {
        Renumber { expand: Arc::new(expand) }
    }
}

impl<E: ExpandKernel> Arrow for Renumber<E> {
    type In = E::In;
    type Out = Val<E::Item>;

    fn describe(&self, input: Port, plan: &mut Describe) -> Port {
        let (slot_bytes, dense, fills) = (Self::Out::BYTES, true, Filled::NUMBERS);
        plan.new_clock(&input, StageKind { name: E::NAME, stateful: E::STATEFUL, slot_bytes, dense, fills })
    }
}
