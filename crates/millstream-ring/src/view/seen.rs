use super::{HiddenGate, HiddenMarks, Place, Side, View, Wire, sealed::Sealed};
use crate::probe::RingProbe;
use millstream_core::{Flow, Lens, Lft, Rgt, Seen};
use std::any::TypeId;
use std::marker::PhantomData;

/// A view through a lens.
#[derive(Debug)]
pub struct SeenView<F: Wire, L> {
    whole: F::View,
    lens: PhantomData<fn() -> L>,
}

impl<F: Wire, L> SeenView<F, L> {
    pub(crate) fn new(whole: F::View) -> Self {
        SeenView { whole, lens: PhantomData }
    }
}

impl<F: Wire, L> Sealed for SeenView<F, L> {}

impl<F: Wire, L: Lens<F>> Sealed for Seen<F, L> {}

impl<F: Wire, L: Lens<F>> Wire for Seen<F, L> {
    type View = SeenView<F, L>;
    type Chunk<'a> = F::Chunk<'a>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Self::at(chunk, i) }.is_some()
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a> {
        // SAFETY: the caller's contract: what has a part is filled.
        let whole = unsafe { F::value_at(chunk, i) };
        // Anybody can make a lens, so it is not believed that it sees the same twice.
        L::focus(whole).expect("a lens sees the same part of a slot every time")
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>> {
        // SAFETY: the caller's contract.
        L::focus(unsafe { F::at(chunk, i) }?)
    }

    type Whole = Self;

    fn lane() -> Option<Side> {
        let lens = TypeId::of::<L>();
        let left = (lens == TypeId::of::<Lft>()).then_some(Side::Left);
        let right = (lens == TypeId::of::<Rgt>()).then_some(Side::Right);
        left.or(right).filter(|_| F::DENSE)
    }

    const RINGS: usize = F::RINGS;
    const SLOT: Option<usize> = F::SLOT;

    #[inline(always)]
    fn place(chunk: &Self::Chunk<'_>) -> Place {
        F::place(chunk)
    }

    #[inline(always)]
    fn is_at(chunk: &Self::Chunk<'_>, place: Place) -> bool {
        F::is_at(chunk, place)
    }

    #[inline(always)]
    unsafe fn by_way_of<'a>(chunk: &Self::Chunk<'a>, place: Place) -> Self::Chunk<'a> {
        // SAFETY: the caller's contract.
        unsafe { F::by_way_of(chunk, place) }
    }
}

impl<F: Wire, L: Lens<F>> View<Seen<F, L>> for SeenView<F, L> {
    #[inline(always)]
    fn cursor(&self) -> u64 {
        self.whole.cursor()
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        self.whole.end()
    }

    #[inline(always)]
    fn contiguous(&self, from: u64, max: u64) -> u64 {
        self.whole.contiguous(from, max)
    }

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> F::Chunk<'a> {
        // SAFETY: the caller's contract.
        unsafe { self.whole.chunk(from) }
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<<Seen<F, L> as Flow>::Ref<'a>> {
        // SAFETY: the caller's contract.
        L::focus(unsafe { self.whole.at_end(end) }?)
    }

    #[inline(always)]
    unsafe fn release(&self, upto: u64) {
        // SAFETY: the caller's contract.
        unsafe { self.whole.release(upto) }
    }

    fn fork(&self, position: u64) -> Self {
        SeenView::new(self.whole.fork(position))
    }

    fn regate(&mut self, gate: &HiddenGate) {
        self.whole.regate(gate);
    }

    fn marks(&self) -> &HiddenMarks {
        self.whole.marks()
    }

    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
        self.whole.watch(rings)
    }
}
