//! Edges whose shape is known only at run time.
//!
//! The view of such an edge is an object around the view of the edge's own shape. It is called a few times a batch. A
//! chunk of the usual shapes names its slots and its masks, and a loop over it calls no function. The most usual forms
//! have a loop each. A chunk of any other shape asks the object for every slot.

use super::{HiddenGate, HiddenMarks, LoopOver, RingLayout, STAYS_FILLED, View, as_inner_view, sealed::Sealed};
use crate::gate::GateId;
use crate::probe::RingProbe;
use crate::slots::SlotSlice;
use millstream_core::{AnyEdge, Item, ItemShape};
use std::any::{Any, TypeId};

/// A view of an edge of `T`s of any shape.
pub struct AnyView<T: Item>(Box<dyn Erased<T>>);

/// Published slots of an edge of any shape.
pub struct AnyChunk<'a, T: Item> {
    slots: Layout<'a, T>,
    masks: Masks<'a>,
}

/// The slots are empty where one of these is false. The first ones are there.
type Masks<'a> = [Option<SlotSlice<'a, bool>>; MASKS];

/// The most masks that a chunk names.
const MASKS: usize = 4;

const NO_MASK: Masks<'static> = [None; MASKS];

enum Layout<'a, T: Item> {
    Dense(SlotSlice<'a, T>),
    Sparse(SlotSlice<'a, Option<T>>),
    Other(Other<T>),
}

/// An edge that is not a ring.
enum Other<T: Item> {
    /// Every slot is empty.
    Empty,
    /// The slots from a number on, each to be asked for.
    Each(*const dyn Erased<T>, u64),
}

impl<T: Item> Clone for Other<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Item> Copy for Other<T> {}

impl<T: Item> Clone for Layout<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Item> Copy for Layout<'_, T> {}

impl<T: Item> Clone for AnyChunk<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Item> Copy for AnyChunk<'_, T> {}

impl<'a, T: Item> AnyChunk<'a, T> {
    pub(super) fn dense(slots: SlotSlice<'a, T>) -> Self {
        AnyChunk { slots: Layout::Dense(slots), masks: NO_MASK }
    }

    pub(super) fn sparse(slots: SlotSlice<'a, Option<T>>) -> Self {
        AnyChunk { slots: Layout::Sparse(slots), masks: NO_MASK }
    }

    pub(super) fn empty() -> Self {
        AnyChunk { slots: Layout::Other(Other::Empty), masks: NO_MASK }
    }

    /// The same slots with a further mask; none if they have [`MASKS`] already, or if each has to be asked for.
    pub(super) fn masked(mut self, mask: SlotSlice<'a, bool>) -> Option<Self> {
        match self.slots {
            Layout::Dense(_) | Layout::Sparse(_) => *self.masks.iter_mut().find(|place| place.is_none())? = Some(mask),
            Layout::Other(Other::Empty) => {}
            Layout::Other(Other::Each(..)) => return None,
        }
        Some(self)
    }
}

impl<'a, T: Item> Layout<'a, T> {
    /// A slot, without a mask.
    ///
    /// # Safety
    ///
    /// As [`RingLayout::at`], of a chunk with this.
    #[inline(always)]
    unsafe fn at(self, i: usize) -> Option<&'a T> {
        match self {
            // SAFETY: the caller's contract.
            Layout::Dense(slots) => Some(unsafe { slots.get(i) }),
            // SAFETY: the caller's contract.
            Layout::Sparse(slots) => unsafe { slots.get(i) }.as_ref(),
            // SAFETY: the caller's contract.
            Layout::Other(other) => unsafe { other.at(i) },
        }
    }
}

impl<T: Item> Other<T> {
    /// A slot.
    ///
    /// # Safety
    ///
    /// As [`Layout::at`].
    // Apart from the loop over the slots, which stays small.
    #[inline(never)]
    unsafe fn at<'a>(self, i: usize) -> Option<&'a T> {
        let Other::Each(edge, from) = self else { return None };
        // SAFETY: by the contract of `chunk` the view lives as long as the chunk, and its box does not move.
        let edge = unsafe { &*edge };
        // SAFETY: the caller's contract.
        unsafe { edge.slot(from + i as u64) }
    }
}

impl<T: Item> AnyView<T> {
    /// The view without its shape. One that has lost its shape already stays as it is.
    pub(crate) fn of<F: RingLayout + ItemShape<Item = T>>(view: F::View) -> Self {
        let mut view = Some(view);
        let erased = (&mut view as &mut dyn Any).downcast_mut::<Option<Self>>().and_then(Option::take);
        erased.unwrap_or_else(|| AnyView(Box::new(Of::<F>(view.expect("it was not taken")))))
    }
}

/// A [`View`] as an object. The contracts of its methods are those of `View`.
trait Erased<T: Item>: Send + Sync {
    fn cursor(&self) -> u64;
    fn end(&self) -> u64;
    fn contiguous(&self, from: u64, max: u64) -> u64;
    /// # Safety
    ///
    /// As [`View::chunk`].
    unsafe fn chunk<'a>(&self, from: u64) -> AnyChunk<'a, T>;
    /// The value of one slot, if it is filled.
    ///
    /// # Safety
    ///
    /// As [`View::chunk`], for this one slot.
    unsafe fn slot<'a>(&self, n: u64) -> Option<&'a T>;
    /// # Safety
    ///
    /// As [`View::at_end`].
    unsafe fn at_end<'a>(&self, end: u64) -> Option<&'a T>;
    /// # Safety
    ///
    /// As [`View::release`].
    unsafe fn release(&self, upto: u64);
    fn fork(&self, position: u64) -> Box<dyn Erased<T>>;
    fn regate(&mut self, gate: &HiddenGate);
    fn marks(&self) -> &HiddenMarks;
    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate;
    fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool;
}

/// The view of an edge of shape `F`.
struct Of<F: RingLayout>(F::View);

impl<F: RingLayout + ItemShape> Erased<F::Item> for Of<F> {
    as_inner_view!(0);

    unsafe fn chunk<'a>(&self, from: u64) -> AnyChunk<'a, F::Item> {
        // SAFETY: the caller's contract.
        let chunk = unsafe { self.0.chunk(from) };
        let erased: *const Self = self;
        F::known(&chunk).unwrap_or(AnyChunk { slots: Layout::Other(Other::Each(erased, from)), masks: NO_MASK })
    }

    unsafe fn slot<'a>(&self, n: u64) -> Option<&'a F::Item> {
        // SAFETY: the caller's contract.
        let chunk = unsafe { self.0.chunk(n) };
        // SAFETY: one slot is always contiguous; the rest is the caller's contract.
        unsafe { F::at(&chunk, 0) }.map(F::item)
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<&'a F::Item> {
        // SAFETY: the caller's contract.
        unsafe { self.0.at_end(end) }.map(F::item)
    }

    fn fork(&self, position: u64) -> Box<dyn Erased<F::Item>> {
        Box::new(Of::<F>(self.0.fork(position)))
    }
}

impl<T: Item> Sealed for AnyView<T> {}

impl<T: Item> Sealed for AnyEdge<T> {}

impl<T: Item> RingLayout for AnyEdge<T> {
    type View = AnyView<T>;
    type Chunk<'a> = AnyChunk<'a, T>;

    #[inline(always)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool {
        // SAFETY: the caller's contract.
        unsafe { Self::at(chunk, i) }.is_some()
    }

    #[inline(always)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> &'a T {
        // The masks are true here.
        // SAFETY: the caller's contract.
        let value = unsafe { chunk.slots.at(i) };
        value.expect(STAYS_FILLED)
    }

    #[inline(always)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<&'a T> {
        for mask in chunk.masks {
            let Some(mask) = mask else { break };
            // SAFETY: the caller's contract.
            if !*unsafe { mask.get(i) } {
                return None;
            }
        }
        // SAFETY: the caller's contract.
        unsafe { chunk.slots.at(i) }
    }

    type Whole = Self;

    #[inline(always)]
    fn by_form<S: ?Sized>(chunk: Self::Chunk<'_>, state: &mut S, work: impl LoopOver<Self, S>) {
        let form = |slots, masks| AnyChunk { slots, masks };
        // Each arm makes the chunk again, so that its form is a constant in that arm's loop.
        match (chunk.slots, chunk.masks) {
            (Layout::Dense(slots), [None, ..]) => work.over(form(Layout::Dense(slots), NO_MASK), state),
            (Layout::Dense(slots), [Some(mask), None, ..]) => {
                work.over(form(Layout::Dense(slots), [Some(mask), None, None, None]), state)
            }
            (Layout::Sparse(slots), [None, ..]) => work.over(form(Layout::Sparse(slots), NO_MASK), state),
            _ => work.over(chunk, state),
        }
    }

    fn known<'a, U: Item>(chunk: &Self::Chunk<'a>) -> Option<AnyChunk<'a, U>> {
        (TypeId::of::<T>() == TypeId::of::<U>()).then(|| {
            let same: *const AnyChunk<'a, U> = std::ptr::from_ref(chunk).cast();
            // SAFETY: it is of this type.
            unsafe { *same }
        })
    }
}

impl<T: Item> View<AnyEdge<T>> for AnyView<T> {
    as_inner_view!(0);

    unsafe fn chunk<'a>(&self, from: u64) -> AnyChunk<'a, T> {
        // SAFETY: the caller's contract.
        unsafe { self.0.chunk(from) }
    }

    unsafe fn at_end<'a>(&self, end: u64) -> Option<&'a T> {
        // SAFETY: the caller's contract.
        unsafe { self.0.at_end(end) }
    }

    fn fork(&self, position: u64) -> Self {
        AnyView(self.0.fork(position))
    }
}

impl<T: Item> std::fmt::Debug for AnyView<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnyView").finish_non_exhaustive()
    }
}

impl<T: Item> std::fmt::Debug for AnyChunk<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.slots, self.masks[0].is_some()) {
            (Layout::Dense(_), false) => "AnyChunk::Dense",
            (Layout::Dense(_), true) => "AnyChunk::DenseMasked",
            (Layout::Sparse(_), false) => "AnyChunk::Sparse",
            (Layout::Sparse(_), true) => "AnyChunk::SparseMasked",
            (Layout::Other(Other::Empty), _) => "AnyChunk::Empty",
            (Layout::Other(Other::Each(..)), _) => "AnyChunk::Each",
        })
    }
}
