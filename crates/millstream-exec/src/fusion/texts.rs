//! Stages of text in a loop past the rings: the work on one slot.

use super::stages::InFront;
use crate::Wiring;
use crate::onlooker::Place;
use millstream_core::fusion::{Fill, Next, Passage};
use millstream_core::pipe::{FormatKernel, SliceKernel};
use millstream_core::{Density, SequenceNumber, Shape, Text};
use millstream_ring::{Kind, Sheet};
use std::any::Any;
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

/// A stage that writes text, and its place in the pipeline. It is the last one: its values are read once a block is
/// full, or the step ends, so that a sink has many of them in one block.
pub(crate) struct OfFormat<W> {
    kernel: Arc<W>,
    place: Place,
}

impl<W> OfFormat<W> {
    /// Where the walk is.
    pub(crate) fn new(kernel: Arc<W>, wiring: &mut Wiring) -> Self {
        OfFormat { kernel, place: wiring.fuse(None, false, false) }
    }
}

/// The written text, and the number of its first slot.
#[derive(Default)]
pub(crate) struct Written<T: ?Sized + Kind> {
    sheet: Sheet<T>,
    first: u64,
}

impl<W: FormatKernel<Kind: Kind>> Passage<W::In, Text<W::Kind, W::Density>> for OfFormat<W> {
    type State = Written<W::Kind>;

    const DEFERS: bool = true;

    fn start(&self) -> Self::State {
        Written { sheet: Sheet::new(), first: 0 }
    }

    fn exchange(&self, _: &mut Self::State, _: &mut [&mut dyn Any]) -> bool {
        true
    }

    #[inline(always)]
    fn pass<N: Next<Text<W::Kind, W::Density>>>(
        &self,
        state: &mut Self::State,
        SequenceNumber(number): SequenceNumber,
        slot: Option<<W::In as Shape>::Ref<'_>>,
        next: N,
    ) -> Fill {
        if state.sheet.is_empty() {
            state.first = number;
        }
        match slot {
            Some(value) => self.place.call(|| state.sheet.write(|out| self.kernel.write(value, out))),
            None => state.sheet.skip(),
        }
        if state.sheet.is_full() { self.flush(state, next) } else { Fill::EMPTY }
    }

    // Once for a block: it is not worth a copy in `pass`.
    #[inline(never)]
    fn flush<N: Next<Text<W::Kind, W::Density>>>(&self, state: &mut Self::State, mut next: N) -> Fill {
        let (mut fill, mut number) = (Fill::EMPTY, state.first);
        state.sheet.read(|piece| {
            fill.add(next.again().take(SequenceNumber(number), piece));
            number += 1;
        });
        fill
    }
}
