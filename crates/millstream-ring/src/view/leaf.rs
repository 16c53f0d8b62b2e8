use super::{AnyChunk, BasePtr, HiddenGate, HiddenMarks, RingLayout, View, sealed::Sealed};
use crate::gate::{GONE, Gate, GateId};
use crate::occupancy::EmptyCounter;
use crate::probe::RingProbe;
use crate::producer::leaf_at;
use crate::shared::Shared;
use crate::slots::SlotSlice;
use crate::sync::{Arc, Ordering};
use crate::text::{Kind, Span};
use millstream_core::{Density, Item, Text, Val};
use std::any::Any;

/// A view of one ring.
pub struct Leaf<S: Item> {
    shared: Arc<Shared<S>>,
    gate: Gate,
}

impl<S: Item> Leaf<S> {
    pub(crate) fn new(shared: Arc<Shared<S>>, gate: Gate) -> Self {
        Leaf { shared, gate }
    }

    /// Sets the counter of empty slots.
    pub(crate) fn counts_empty(&self, empty_slots: impl FnOnce() -> EmptyCounter<S>) {
        self.shared.counts_empty(empty_slots);
    }

    /// A slot that is published and not released.
    ///
    /// # Safety
    ///
    /// As [`View::chunk`], for this one slot.
    pub(crate) unsafe fn slot<'a>(&self, n: u64) -> &'a S {
        // SAFETY: the caller's contract.
        let slice = unsafe { self.shared.slots.slice(n) };
        // SAFETY: one slot is always inside the storage.
        unsafe { slice.get(0) }
    }

    /// Whether number `n` is END, and has no slot. The cursor beyond `n` must have been acquired.
    pub(crate) fn ends_without_slot(&self, n: u64) -> bool {
        self.shared.end() == n && !self.shared.end_has_slot()
    }

    /// END's slot, if it has one. None if `end` is the END of another ring beside this one, which continues: the answer
    /// is the same whether or not this ring's own END is known already.
    ///
    /// # Safety
    ///
    /// As [`View::at_end`].
    pub(crate) unsafe fn end_slot<'a>(&self, end: u64) -> Option<&'a S> {
        (self.shared.end() == end && self.shared.end_has_slot()).then(|| {
            // SAFETY: it is this ring's END, which is published, and the flag says that it has a slot.
            unsafe { self.slot(end) }
        })
    }
}

impl<S: Item> Sealed for Leaf<S> {}

/// A shape that is stored in one ring. Sealed.
pub trait OneRing: for<'a> RingLayout<View = Leaf<Self::Slot>, Chunk<'a> = SlotSlice<'a, Self::Slot>> {
    /// The type of the ring's slots.
    type Slot: Item;
    /// The value of a slot, if it is filled.
    #[doc(hidden)]
    fn peek<'a>(slot: &'a Self::Slot) -> Option<Self::Ref<'a>>;
    /// The value of END that is kept beside the slots.
    #[doc(hidden)]
    fn peek_beside(last: &(dyn Any + Send + Sync)) -> Option<Self::Ref<'_>>;
}

impl<T: Item, D: Density> Sealed for Val<T, D> {}

impl<T: Item, D: Density> OneRing for Val<T, D> {
    type Slot = D::Slot<T>;

    #[inline(always)]
    fn peek<'a>(slot: &'a D::Slot<T>) -> Option<Self::Ref<'a>> {
        D::peek(slot)
    }

    fn peek_beside(last: &(dyn Any + Send + Sync)) -> Option<&T> {
        last.downcast_ref()
    }
}

impl<T: Item, D: Density> RingLayout for Val<T, D> {
    type View = Leaf<D::Slot<T>>;
    type Chunk<'a> = SlotSlice<'a, D::Slot<T>>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Self::at(chunk, i) }.is_some()
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> &'a T {
        // SAFETY: the caller's contract.
        let slot = unsafe { Self::at(chunk, i) };
        // SAFETY: it is filled, by the caller's contract, and no thread writes it meanwhile.
        unsafe { slot.unwrap_unchecked() }
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<&'a T> {
        // SAFETY: the caller's contract.
        D::peek(unsafe { chunk.get(i) })
    }

    type Whole = Val<T>;

    fn known<'a, U: Item>(chunk: &Self::Chunk<'a>) -> Option<AnyChunk<'a, U>> {
        if D::AT_END {
            return Some(AnyChunk::empty());
        }
        chunk.of_type().map(AnyChunk::dense).or_else(|| chunk.of_type().map(AnyChunk::sparse))
    }

    const DENSE: bool = D::DENSE;
    const RINGS: usize = 1;
    const SLOT: Option<usize> = Some(size_of::<D::Slot<T>>());

    #[inline(always)]
    fn place(chunk: &Self::Chunk<'_>) -> BasePtr {
        chunk.place()
    }

    #[inline(always)]
    fn is_at(chunk: &Self::Chunk<'_>, place: BasePtr) -> bool {
        chunk.place() == place
    }

    #[inline(always)]
    unsafe fn by_way_of<'a>(_: &Self::Chunk<'a>, place: BasePtr) -> Self::Chunk<'a> {
        // SAFETY: this leaf's slots begin there, by the caller's contract, and so does the storage that both pointers
        // point into: a slot that has a size is at one address only, and of one type.
        unsafe { SlotSlice::at_place(place) }
    }
}

impl<T: Kind + ?Sized, D: Density> Sealed for Text<T, D> {}

impl<T: Kind + ?Sized, D: Density> OneRing for Text<T, D> {
    type Slot = D::Slot<Span<T>>;

    #[inline(always)]
    fn peek<'a>(slot: &'a D::Slot<Span<T>>) -> Option<Self::Ref<'a>> {
        D::peek(slot).map(Span::lend)
    }

    fn peek_beside(last: &(dyn Any + Send + Sync)) -> Option<Self::Ref<'_>> {
        last.downcast_ref().map(Span::lend)
    }
}

impl<T: Kind + ?Sized, D: Density> RingLayout for Text<T, D> {
    type View = Leaf<D::Slot<Span<T>>>;
    type Chunk<'a> = SlotSlice<'a, D::Slot<Span<T>>>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Self::at(chunk, i) }.is_some()
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a> {
        // SAFETY: the caller's contract.
        let slot = unsafe { Self::at(chunk, i) };
        // SAFETY: it is filled, by the caller's contract, and no thread writes it meanwhile.
        unsafe { slot.unwrap_unchecked() }
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>> {
        // SAFETY: the caller's contract.
        D::peek(unsafe { chunk.get(i) }).map(Span::lend)
    }

    type Whole = Self;
}

impl<F: OneRing> View<F> for Leaf<F::Slot> {
    #[inline(always)]
    fn cursor(&self) -> u64 {
        self.shared.cursor()
    }

    #[inline(always)]
    fn end(&self) -> u64 {
        self.shared.end()
    }

    #[inline(always)]
    fn contiguous(&self, from: u64, max: u64) -> u64 {
        self.shared.slots.contiguous(from, max)
    }

    #[inline(always)]
    unsafe fn chunk<'a>(&self, from: u64) -> SlotSlice<'a, F::Slot> {
        // SAFETY: the caller's contract.
        unsafe { self.shared.slots.slice(from) }
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<F::Ref<'a>> {
        if F::Density::DENSE {
            return None;
        }
        if F::Density::AT_END {
            let last = self.shared.beside().filter(|_| self.shared.end() == end)?;
            // SAFETY: END's value is written once, before the cursor that shows END, and is dropped with the ring,
            // which the reader that lends this keeps.
            let last: &'a (dyn Any + Send + Sync) = unsafe { &*std::ptr::from_ref(last) };
            return F::peek_beside(last);
        }
        // SAFETY: the caller's contract.
        F::peek(unsafe { self.end_slot(end) }?)
    }

    #[inline(always)]
    unsafe fn release(&self, upto: u64) {
        match &self.gate {
            Gate::Reader(position) => position.store(upto, Ordering::Release),
            Gate::Group(_) => unreachable!("run writers release by their floors"),
        }
    }

    fn fork(&self, position: u64) -> Self {
        let (gate, leaf) = leaf_at(&self.shared, position);
        self.shared.gates.add(gate);
        leaf
    }

    fn regate(&mut self, gate: &HiddenGate) {
        self.shared.gates.add(gate.0.clone());
        if let Gate::Reader(position) = std::mem::replace(&mut self.gate, gate.0.clone()) {
            position.store(GONE, Ordering::Release);
        }
    }

    fn marks(&self) -> &HiddenMarks {
        self.shared.marks()
    }

    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
        rings.push(self.shared.probe());
        HiddenGate(self.gate.clone())
    }

    fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool {
        self.gate.id().map(see).is_some()
    }
}

impl<S: Item> Drop for Leaf<S> {
    fn drop(&mut self) {
        match &self.gate {
            Gate::Reader(position) => position.store(GONE, Ordering::Release),
            Gate::Group(group) => group.leave(),
        }
    }
}

impl<S: Item> std::fmt::Debug for Leaf<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leaf").finish_non_exhaustive()
    }
}
