use super::{BasePtr, HiddenGate, HiddenMarks, RingLayout, View, as_inner_view, sealed::Sealed};
use crate::Reader;
use crate::gate::GateId;
use crate::probe::RingProbe;
use millstream_core::{Item, Part, Shows};
use std::marker::PhantomData;
use std::sync::Arc;

/// A view of a part of every value, which a closure shows.
pub struct PartView<F: RingLayout, C, T> {
    whole: F::View,
    shows: Arc<C>,
    part: PhantomData<fn() -> T>,
}

impl<F: RingLayout, C, T> PartView<F, C, T> {
    fn new(whole: F::View, shows: Arc<C>) -> Self {
        PartView { whole, shows, part: PhantomData }
    }
}

impl<F: RingLayout> Reader<F> {
    /// A part of every value of this edge, which `shows` shows.
    #[must_use]
    pub fn part<T: Item, C: Shows<F, T>>(self, shows: Arc<C>) -> Reader<Part<F, C, T>> {
        self.viewed(|whole| PartView::new(whole, shows))
    }
}

impl<F: RingLayout, C, T> Sealed for PartView<F, C, T> {}
impl<F: RingLayout, T: Item, C: Shows<F, T>> Sealed for Part<F, C, T> {}

/// Published slots, and what shows the part of each.
pub struct PartChunk<'a, F: RingLayout, C>(F::Chunk<'a>, &'a C);

impl<F: RingLayout, C> Clone for PartChunk<'_, F, C> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<F: RingLayout, C> Copy for PartChunk<'_, F, C> {}

impl<F: RingLayout, T: Item, C: Shows<F, T>> RingLayout for Part<F, C, T> {
    type View = PartView<F, C, T>;
    type Chunk<'a> = PartChunk<'a, F, C>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { F::is_filled(&chunk.0, i) }
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> &'a T {
        // SAFETY: the caller's contract: a part is filled where the whole is.
        chunk.1.show(unsafe { F::value_at(&chunk.0, i) })
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<&'a T> {
        // SAFETY: the caller's contract.
        unsafe { F::at(&chunk.0, i) }.map(|whole| chunk.1.show(whole))
    }

    type Whole = Self;
    const RINGS: usize = F::RINGS;
    const SLOT: Option<usize> = F::SLOT;

    #[inline(always)]
    fn place(chunk: &Self::Chunk<'_>) -> BasePtr {
        F::place(&chunk.0)
    }

    #[inline(always)]
    fn is_at(chunk: &Self::Chunk<'_>, place: BasePtr) -> bool {
        F::is_at(&chunk.0, place)
    }

    #[inline(always)]
    unsafe fn by_way_of<'a>(chunk: &Self::Chunk<'a>, place: BasePtr) -> Self::Chunk<'a> {
        // SAFETY: the caller's contract.
        PartChunk(unsafe { F::by_way_of(&chunk.0, place) }, chunk.1)
    }
}

impl<F: RingLayout, T: Item, C: Shows<F, T>> View<Part<F, C, T>> for PartView<F, C, T> {
    as_inner_view!(whole);

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> PartChunk<'a, F, C> {
        // SAFETY: the view lives as long as the chunk, by the caller's contract, and the closure as long as the view.
        // It is behind an `Arc`, so it stays where it is when the view moves.
        let shows = unsafe { &*Arc::as_ptr(&self.shows) };
        // SAFETY: the caller's contract.
        PartChunk(unsafe { self.whole.chunk(from) }, shows)
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<&'a T> {
        // SAFETY: the caller's contract.
        unsafe { self.whole.at_end(end) }.map(|whole| self.shows.show(whole))
    }

    fn fork(&self, position: u64) -> Self {
        PartView::new(self.whole.fork(position), self.shows.clone())
    }
}

impl<F: RingLayout, C, T> std::fmt::Debug for PartView<F, C, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PartView")
    }
}

impl<F: RingLayout, C> std::fmt::Debug for PartChunk<'_, F, C> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PartChunk")
    }
}
