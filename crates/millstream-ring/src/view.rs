//! How the slots of an edge are reached: each shape has a view, composed as the shapes are.

mod any_edge;
mod filtered;
mod leaf;
mod maybe;
mod merged;
mod part;
mod projected;
mod zip;

pub use any_edge::{AnyChunk, AnyView};
pub use filtered::FilteredView;
pub use leaf::{Leaf, OneRing};
pub use maybe::MaybeView;
pub use merged::MergedView;
pub use part::{PartChunk, PartView};
pub use projected::ProjectedView;
pub use zip::ZipView;

use crate::gate::{Gate, GateId};
use crate::mark::MarkList;
use crate::probe::RingProbe;
use millstream_core::{Item, SameItem, Shape};

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A shape that rings carry: all shapes of this project. Sealed.
pub trait RingLayout: Shape + sealed::Sealed {
    /// The reading end of an edge of this shape.
    type View: View<Self>;
    /// Contiguous published slots.
    type Chunk<'a>: Copy;

    /// Whether slot `i` of a chunk is filled. It is apart from [`value_at`](RingLayout::value_at), so that a loop over
    /// values tests a flag, and two flags at once if two lanes are side by side.
    ///
    /// # Safety
    ///
    /// `i` must be less than the length for which the chunk was made.
    #[doc(hidden)]
    unsafe fn is_filled(chunk: &Self::Chunk<'_>, i: usize) -> bool;

    /// The value of slot `i` of a chunk.
    ///
    /// # Safety
    ///
    /// As [`is_filled`](RingLayout::is_filled), which must have returned true for this slot.
    #[doc(hidden)]
    unsafe fn value_at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Self::Ref<'a>;

    /// The value of slot `i` of a chunk, if it is filled.
    ///
    /// # Safety
    ///
    /// As [`is_filled`](RingLayout::is_filled).
    #[doc(hidden)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>>;

    /// This shape with every slot filled, if it is stored in one ring; otherwise any shape with the same values.
    #[doc(hidden)]
    type Whole: RingLayout + SameItem<Self>;

    /// Whether it is stored in one ring of values without empty slots.
    #[doc(hidden)]
    const DENSE: bool = false;

    /// Its side, if it is a lane of choices that are stored in one ring without empty slots.
    #[doc(hidden)]
    #[must_use]
    fn lane() -> Option<Side> {
        None
    }

    /// The number of rings. A ring that is read twice counts twice.
    #[doc(hidden)]
    const RINGS: usize = 1;

    /// The size of a slot in bytes, if all rings may be one.
    #[doc(hidden)]
    const SLOT: Option<usize> = None;

    /// The address of the slots of the first ring.
    #[doc(hidden)]
    #[inline(always)]
    fn place(_: &Self::Chunk<'_>) -> BasePtr {
        BasePtr(std::ptr::null())
    }

    /// Whether the slots of every ring begin at that address.
    #[doc(hidden)]
    #[inline(always)]
    fn is_at(_: &Self::Chunk<'_>, _: BasePtr) -> bool {
        false
    }

    /// The same chunk, with its pointers replaced by `place`.
    ///
    /// # Safety
    ///
    /// The slots of every ring must begin there, and have a size.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn by_way_of<'a>(chunk: &Self::Chunk<'a>, _: BasePtr) -> Self::Chunk<'a> {
        *chunk
    }

    /// Runs a loop over a chunk. A shape whose chunks have several forms, which are known at run time only, looks at
    /// the form once and has a loop for each: left to itself, the compiler asks for it at every slot.
    #[doc(hidden)]
    #[inline(always)]
    fn by_form<T: ?Sized>(chunk: Self::Chunk<'_>, state: &mut T, work: impl LoopOver<Self, T>) {
        work.over(chunk, state);
    }

    /// The same chunk, with its slots and its mask by name, if its items are `T`s. None if each slot has to be asked
    /// for.
    #[doc(hidden)]
    fn known<'a, T: Item>(_: &Self::Chunk<'a>) -> Option<AnyChunk<'a, T>> {
        None
    }
}

/// The panic at a slot that is empty when it is looked at again. Any crate can make a lens, and a closure shows a part,
/// so the result of an earlier call is not relied on.
const STAYS_FILLED: &str = "a slot that was filled stays filled";

/// A loop over the slots of a chunk that changes a `T`.
#[doc(hidden)]
pub trait LoopOver<F: RingLayout, T: ?Sized> {
    /// Must be `#[inline(always)]`: a function that is not inlined is compiled for any machine, and for any form.
    fn over(self, chunk: F::Chunk<'_>, state: &mut T);
}

/// A lane of a choice.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Side {
    pub(crate) fn other(self) -> Self {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// The address of the first of some slots.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BasePtr(*const ());

impl BasePtr {
    #[inline(always)]
    pub(crate) fn new<C>(first: *const C) -> Self {
        BasePtr(first.cast())
    }

    #[inline(always)]
    pub(crate) fn pointer<C>(self) -> *const C {
        self.0.cast()
    }
}

/// Runs a loop over a chunk. If all its rings are one, the loop gets a chunk with a single pointer: the compiler then
/// knows that they are one, and loads a slot once, however many readers look at it.
#[inline(always)]
pub(crate) fn over<F: RingLayout, T: ?Sized>(chunk: F::Chunk<'_>, state: &mut T, work: impl LoopOver<F, T>) {
    // A constant: for a single ring, the compiler leaves the second loop out, also where it does not optimise. Slots
    // without a size can be at one address and belong to different rings.
    if const { F::RINGS > 1 && matches!(F::SLOT, Some(1..)) } {
        let place = F::place(&chunk);
        if F::is_at(&chunk, place) {
            // SAFETY: `is_at` has just checked it.
            return work.over(unsafe { F::by_way_of(&chunk, place) }, state);
        }
    }
    F::by_form(chunk, state, work);
}

/// The size of a slot of both shapes, if it is the same.
pub(crate) const fn slot_of_both(one: Option<usize>, other: Option<usize>) -> Option<usize> {
    match (one, other) {
        (Some(one), Some(other)) if one == other => Some(one),
        _ => None,
    }
}

/// The reading end of an edge without a position: a [`Reader`](crate::Reader) adds one.
///
/// Numbers are counted from the start of the clock. All methods are for this crate.
pub trait View<F: RingLayout>: sealed::Sealed + Send + Sync + Sized + 'static {
    /// Every number below the result is published on all rings, END included. It may seem to step back.
    #[doc(hidden)]
    fn cursor(&self) -> u64;

    /// END's number, or OPEN; known once the cursor beyond END is acquired.
    #[doc(hidden)]
    fn end(&self) -> u64;

    /// How many numbers from `from` on, at most `max`, are contiguous in every ring.
    #[doc(hidden)]
    fn contiguous(&self, from: u64, max: u64) -> u64;

    /// The slots from `from` on.
    ///
    /// # Safety
    ///
    /// As long as `'a`, this view must live, only slots that are published and not released may be read through the
    /// chunk, and no more than are contiguous.
    #[doc(hidden)]
    unsafe fn chunk<'a>(&self, from: u64) -> F::Chunk<'a>;

    /// The value of END.
    ///
    /// # Safety
    ///
    /// END, number `end`, must be published and not released as long as `'a`.
    #[doc(hidden)]
    unsafe fn at_end<'a>(&self, end: u64) -> Option<F::Ref<'a>>;

    /// Releases every number below `upto`.
    ///
    /// # Safety
    ///
    /// No reference to these slots may be used again through this view.
    #[doc(hidden)]
    unsafe fn release(&self, upto: u64);

    /// Another view of the same rings, gated at `position`, which this view must not have released.
    #[doc(hidden)]
    fn fork(&self, position: u64) -> Self;

    /// Replaces this view's gates. The new gate must not need less than the old ones still do.
    #[doc(hidden)]
    fn regate(&mut self, gate: &HiddenGate);

    /// The marks of this clock.
    #[doc(hidden)]
    fn marks(&self) -> &HiddenMarks;

    /// Adds the counters of every ring, and returns this view's gate at one of them: it has the same number at all of
    /// them.
    #[doc(hidden)]
    fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate;

    /// Shows the gate of each ring. Returns whether these are all; none are if a ring is read by more than its slots.
    #[doc(hidden)]
    fn gates(&self, _: &mut dyn FnMut(GateId)) -> bool {
        false
    }
}

/// The methods of a view of one other view, also of one as an object, in which it does as that one does.
macro_rules! as_inner_view {
    ($inner:tt) => {
        #[inline(always)]
        fn cursor(&self) -> u64 {
            self.$inner.cursor()
        }

        #[inline(always)]
        fn end(&self) -> u64 {
            self.$inner.end()
        }

        #[inline(always)]
        fn contiguous(&self, from: u64, max: u64) -> u64 {
            self.$inner.contiguous(from, max)
        }

        #[inline(always)]
        unsafe fn release(&self, upto: u64) {
            // SAFETY: the caller's contract.
            unsafe { self.$inner.release(upto) }
        }

        fn regate(&mut self, gate: &HiddenGate) {
            self.$inner.regate(gate);
        }

        fn marks(&self) -> &HiddenMarks {
            self.$inner.marks()
        }

        fn watch(&self, rings: &mut Vec<RingProbe>) -> HiddenGate {
            self.$inner.watch(rings)
        }

        fn gates(&self, see: &mut dyn FnMut(GateId)) -> bool {
            self.$inner.gates(see)
        }
    };
}
use as_inner_view;

/// What a layout does as the layout `$inner` does, whose chunks it has.
macro_rules! as_inner_layout {
    ($inner:ident) => {
        const RINGS: usize = $inner::RINGS;
        const SLOT: Option<usize> = $inner::SLOT;

        #[inline(always)]
        fn place(chunk: &Self::Chunk<'_>) -> BasePtr {
            $inner::place(chunk)
        }

        #[inline(always)]
        fn is_at(chunk: &Self::Chunk<'_>, place: BasePtr) -> bool {
            $inner::is_at(chunk, place)
        }

        #[inline(always)]
        unsafe fn by_way_of<'a>(chunk: &Self::Chunk<'a>, place: BasePtr) -> Self::Chunk<'a> {
            // SAFETY: the caller's contract.
            unsafe { $inner::by_way_of(chunk, place) }
        }
    };
}
use as_inner_layout;

/// The value of END of an edge that is filled only at END.
pub(crate) type Beside = Box<dyn std::any::Any + Send + Sync>;

/// A gate, with its contents hidden.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "hidden")]
pub struct HiddenGate(pub(crate) Gate);

/// A list of marks, with its contents hidden.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "hidden")]
#[repr(transparent)]
pub struct HiddenMarks(pub(crate) MarkList);
