//! New clocks: lists of values, and an empty END after them.

use super::{Extent, ModelShape, Slots};
use std::sync::Arc;

/// The values of an edge; END's is the last.
pub(super) fn values<A: ModelShape>(edge: &A::Edge) -> impl Iterator<Item = A::Ref<'_>> {
    (0..A::slots(edge)).filter_map(|n| A::at(edge, n))
}

/// Every value, and an empty END after the last one.
pub(super) fn renumbered<T>(values: impl Iterator<Item = T>, extent: &mut Extent) -> Slots<T> {
    extent.renumber();
    let end = if extent.has_end() { Some(None) } else { None };
    Arc::new(values.map(|value| Some(Arc::new(value))).chain(end).collect())
}
