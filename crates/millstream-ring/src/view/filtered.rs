use super::{AnyChunk, HiddenGate, HiddenMarks, Leaf, RingLayout, View, sealed::Sealed};
use crate::gate::GateId;
use crate::probe::RingProbe;
use crate::slots::SlotSlice;
use millstream_core::{Dense, Filtered, Item, Shape, Val};

/// A view and a ring of flags: a slot whose flag is false is empty.
#[derive(Debug)]
pub struct FilteredView<F: RingLayout> {
    inner: F::View,
    mask: Leaf<bool>,
}

impl<F: RingLayout> FilteredView<F> {
    pub(crate) fn new(inner: F::View, mask: Leaf<bool>) -> Self {
        FilteredView { inner, mask }
    }

    fn mask(&self) -> &impl View<Val<bool, Dense>> {
        &self.mask
    }
}

impl<F: RingLayout> Sealed for FilteredView<F> {}

impl<F: RingLayout> Sealed for Filtered<F> {}

impl<F: RingLayout> RingLayout for Filtered<F> {
    type View = FilteredView<F>;
    type Chunk<'a> = (F::Chunk<'a>, SlotSlice<'a, bool>);

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        let kept = unsafe { chunk.1.get(i) };
        // SAFETY: the caller's contract.
        *kept && unsafe { F::is_filled(&chunk.0, i) }
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a> {
        // SAFETY: the caller's contract: a slot that is filled with the mask is filled without it.
        unsafe { F::value_at(&chunk.0, i) }
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>> {
        // SAFETY: the caller's contract.
        let kept = unsafe { chunk.1.get(i) };
        if *kept {
            // SAFETY: the caller's contract.
            unsafe { F::at(&chunk.0, i) }
        } else {
            None
        }
    }

    type Whole = Self;

    fn known<'a, T: Item>(chunk: &Self::Chunk<'a>) -> Option<AnyChunk<'a, T>> {
        F::known(&chunk.0)?.masked(chunk.1)
    }
}

impl<F: RingLayout> View<Filtered<F>> for FilteredView<F> {
    #[inline(always)]
    fn cursor(&self) -> u64 {
        let (inner, mask) = (self.inner.cursor(), self.mask().cursor());
        // A mask can end before the other ring, if its END has no slot: then that is the edge's END, whatever the other
        // ring holds at that number.
        if inner + 1 == mask && self.mask.ends_without_slot(inner) { mask } else { inner.min(mask) }
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        self.inner.end().min(self.mask().end())
    }

    #[inline(always)]
    fn contiguous(&self, from: u64, max: u64) -> u64 {
        self.mask().contiguous(from, self.inner.contiguous(from, max))
    }

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> (F::Chunk<'a>, SlotSlice<'a, bool>) {
        // SAFETY: the caller's contract, which `cursor` makes true of both rings.
        let inner = unsafe { self.inner.chunk(from) };
        // SAFETY: as above.
        let mask = unsafe { <Leaf<bool> as View<Val<bool, Dense>>>::chunk(&self.mask, from) };
        (inner, mask)
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<<Filtered<F> as Shape>::Ref<'a>> {
        // SAFETY: the caller's contract, which `cursor` makes true of the mask, and of the other ring unless the mask
        // has ended before it: then END has no slot here.
        let kept = unsafe { self.mask.end_slot(end) }?;
        if *kept {
            // SAFETY: as above.
            unsafe { self.inner.at_end(end) }
        } else {
            None
        }
    }

    #[inline(always)]
    unsafe fn release(&self, upto: u64) {
        // SAFETY: the caller's contract.
        unsafe { self.inner.release(upto) };
        // SAFETY: the caller's contract.
        unsafe { <Leaf<bool> as View<Val<bool, Dense>>>::release(&self.mask, upto) };
    }

    fn fork(&self, position: u64) -> Self {
        let mask = <Leaf<bool> as View<Val<bool, Dense>>>::fork(&self.mask, position);
        FilteredView::new(self.inner.fork(position), mask)
    }

    fn regate(&mut self, gate: &HiddenGate) {
        self.inner.regate(gate);
        <Leaf<bool> as View<Val<bool, Dense>>>::regate(&mut self.mask, gate);
    }

    fn marks(&self) -> &HiddenMarks {
        self.inner.marks()
    }

    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
        View::<Val<bool, Dense>>::watch(&self.mask, rings);
        self.inner.watch(rings)
    }

    fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool {
        View::<Val<bool, Dense>>::gates(&self.mask, see) && self.inner.gates(see)
    }
}
