//! What stages of text do with a slot that passes their rings.

use super::stages::InFront;
use crate::onlooker::Place;
use millstream_core::pipe::SliceKernel;
use millstream_core::{Density, Shape, Text};
use std::sync::Arc;

/// A stage that passes on a part of a text.
pub(crate) struct Slicing<K>(pub(crate) Arc<K>);

impl<K: SliceKernel> InFront<K::In, Text<K::Kind, K::Density>> for Slicing<K> {
    const EMPTIES: bool = !K::Density::DENSE;

    #[inline(always)]
    fn pass<T>(
        &self,
        place: &Place,
        slot: Option<<K::In as Shape>::Ref<'_>>,
        next: impl FnOnce(Option<<Text<K::Kind, K::Density> as Shape>::Ref<'_>>) -> T,
    ) -> T {
        next(slot.and_then(|value| place.call(|| self.0.part(value))))
    }
}
