//! Clocks. Edges that are joined by number share a clock. A renumbering stage ends one clock and starts the next.
//!
//! Such stages are `flat_map`, `flat_scan`, `flatten`, `compact` and `windows_by`, each an [`ExpandKernel`]; `lines`,
//! `words` and the other cuts of text (`split.rs`); and `unordered`. Their outputs are numbered from 0 again. Their
//! types lack the marker `KeepsClock`, so they cannot be in a body whose output is joined by number. A `tee` takes
//! them, since its output is not read. The plan shows the clock of each ring.
//!
//! A stage of an [`ExpandKernel`] owns the iterator of a value, and keeps it from one step to the next. A long or
//! endless iterator therefore blocks no other stage, and the value's slot is released at once. A mark at number N
//! moves to the new clock at its next number: after all outputs of the values below N, and before any other.

use super::combinator;
use crate::plan::{Describe, Filled, Port, StageKind, StateType};
use crate::{Arrow, Item, Shape, Val};
use std::any::TypeId;
use std::sync::Arc;

/// How a renumbering stage expands one value after another: any number of outputs each.
pub trait ExpandKernel: Send + Sync + 'static {
    /// The shape of the input.
    type In: Shape;
    /// The item of the output.
    type Item: Item;
    /// The outputs of one value. The iterator is kept from one step to the next, and borrows nothing.
    type Values: Iterator<Item = Self::Item> + Send + 'static;
    /// The state from one value to the next; `()` if there is none.
    type State: Item + Clone;
    /// The combinator's name.
    const NAME: &'static str;
    /// The state before the first value.
    fn start(&self) -> Self::State;
    /// The outputs of a value; END's value is one of them.
    fn expand(&self, state: &mut Self::State, value: <Self::In as Shape>::Ref<'_>) -> Self::Values;
    /// The outputs after those of the last value.
    fn finish(&self, _: Self::State) -> Option<Self::Values> {
        None
    }
    /// What [`expand`](ExpandKernel::expand) and [`finish`](ExpandKernel::finish) mean: the outputs of the values, with
    /// those of `finish` if the stream has `ended` after them. (It has not in a loop, which asks for each next state.)
    /// It is the [`Model`](crate::Model)'s definition, and is written apart from them; they are tested against it.
    fn model(&self, values: Vec<<Self::In as Shape>::Ref<'_>>, ended: bool) -> Vec<Self::Item>;
}

/// A new clock: the outputs of an [`ExpandKernel`], numbered from 0.
///
/// It does not keep its clock, and has only the marker [`Determinate`](crate::Determinate): output n does not have
/// input n's number.
pub struct Renumber<E> {
    /// The kernel, shared by every deployment.
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
        let state = (TypeId::of::<E::State>() != TypeId::of::<()>()).then(StateType::of::<E::State>);
        plan.new_clock(&input, StageKind { name: E::NAME, state, slot_bytes, dense, fills })
    }
}
