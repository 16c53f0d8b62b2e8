use super::{BasePtr, HiddenGate, HiddenMarks, RingLayout, View, as_inner_layout, as_inner_view, sealed::Sealed};
use crate::Reader;
use crate::gate::GateId;
use crate::probe::RingProbe;
use millstream_core::{Maybe, Shape};

/// A view of every slot below END as an `Option`.
#[derive(Debug)]
pub struct MaybeView<F: RingLayout>(F::View);

impl<F: RingLayout> Reader<F> {
    /// Every slot of this edge below END as an `Option`, and END where it holds a value.
    #[must_use]
    pub fn maybe(self) -> Reader<Maybe<F>> {
        self.viewed(MaybeView)
    }
}

impl<F: RingLayout> Sealed for MaybeView<F> {}
impl<F: RingLayout> Sealed for Maybe<F> {}

impl<F: RingLayout> RingLayout for Maybe<F> {
    type View = MaybeView<F>;
    type Chunk<'a> = F::Chunk<'a>;

    #[inline(always)]
    unsafe fn is_filled(_: &Self::Chunk<'_>, _: usize) -> bool {
        true
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<F::Ref<'a>> {
        // SAFETY: the caller's contract; `at` asks whether the slot is filled.
        unsafe { F::at(chunk, i) }
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Option<F::Ref<'a>>> {
        // SAFETY: the caller's contract.
        Some(unsafe { F::at(chunk, i) })
    }

    type Whole = Self;
    as_inner_layout!(F);
}

impl<F: RingLayout> View<Maybe<F>> for MaybeView<F> {
    as_inner_view!(0);

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> F::Chunk<'a> {
        // SAFETY: the caller's contract.
        unsafe { self.0.chunk(from) }
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<<Maybe<F> as Shape>::Ref<'a>> {
        // SAFETY: the caller's contract.
        unsafe { self.0.at_end(end) }.map(Some)
    }

    fn fork(&self, position: u64) -> Self {
        MaybeView(self.0.fork(position))
    }
}
