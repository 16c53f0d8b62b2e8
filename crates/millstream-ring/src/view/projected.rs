use super::{BasePtr, HiddenGate, HiddenMarks, RingLayout, Side, View, as_inner_layout, as_inner_view, sealed::Sealed};
use crate::gate::GateId;
use crate::probe::RingProbe;
use millstream_core::{Lens, Projected, Shape, lens};
use std::any::TypeId;
use std::marker::PhantomData;

/// A view through a lens.
#[derive(Debug)]
pub struct ProjectedView<F: RingLayout, L> {
    whole: F::View,
    lens: PhantomData<fn() -> L>,
}

impl<F: RingLayout, L> ProjectedView<F, L> {
    pub(crate) fn new(whole: F::View) -> Self {
        ProjectedView { whole, lens: PhantomData }
    }
}

impl<F: RingLayout, L> Sealed for ProjectedView<F, L> {}

impl<F: RingLayout, L: Lens<F>> Sealed for Projected<F, L> {}

impl<F: RingLayout, L: Lens<F>> RingLayout for Projected<F, L> {
    type View = ProjectedView<F, L>;
    type Chunk<'a> = F::Chunk<'a>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Self::at(chunk, i) }.is_some()
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a> {
        // SAFETY: the caller's contract: a slot with such a part is filled.
        let whole = unsafe { F::value_at(chunk, i) };
        // Any crate can make a lens, so the result of an earlier call is not relied on.
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
        let left = (lens == TypeId::of::<lens::Left>()).then_some(Side::Left);
        let right = (lens == TypeId::of::<lens::Right>()).then_some(Side::Right);
        left.or(right).filter(|_| F::DENSE)
    }

    as_inner_layout!(F);
}

impl<F: RingLayout, L: Lens<F>> View<Projected<F, L>> for ProjectedView<F, L> {
    as_inner_view!(whole);

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> F::Chunk<'a> {
        // SAFETY: the caller's contract.
        unsafe { self.whole.chunk(from) }
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<<Projected<F, L> as Shape>::Ref<'a>> {
        // SAFETY: the caller's contract.
        L::focus(unsafe { self.whole.at_end(end) }?)
    }

    fn fork(&self, position: u64) -> Self {
        ProjectedView::new(self.whole.fork(position))
    }
}
