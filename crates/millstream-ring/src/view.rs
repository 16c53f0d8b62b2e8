//! How the slots of an edge are reached: one view a shape, composed as the shapes are.

mod leaf;
mod masked;
mod seen;
mod zip;

pub use leaf::{Leaf, OneRing};
pub use masked::MaskedView;
pub use seen::SeenView;
pub use zip::ZipView;

use crate::gate::Gate;
use crate::mark::MarkList;
use millstream_core::Flow;

pub(crate) mod sealed {
    pub trait Sealed {}
}

/// A shape that rings carry: all shapes of this project. Sealed.
pub trait Wire: Flow + sealed::Sealed {
    /// What reads it.
    type View: View<Self>;
    /// Published slots side by side.
    type Chunk<'a>: Copy;

    /// What slot `i` of a chunk holds.
    ///
    /// # Safety
    ///
    /// `i` must be less than the length for which the chunk was made.
    #[doc(hidden)]
    unsafe fn at<'a>(chunk: &Self::Chunk<'a>, i: usize) -> Option<Self::Ref<'a>>;
}

/// The reading end of an edge without a position: a [`Reader`](crate::Reader) adds one.
///
/// Numbers are counted from the start of the clock. All methods are for this crate.
pub trait View<F: Wire>: sealed::Sealed + Send + Sync + Sized + 'static {
    /// Every number below the result is published on all rings, END counted; may seem to step back.
    #[doc(hidden)]
    fn cursor(&self) -> u64;

    /// END's number, or OPEN; known once the cursor behind END is acquired.
    #[doc(hidden)]
    fn end(&self) -> u64;

    /// How many numbers from `from` on, at most `max`, lie side by side in every ring.
    #[doc(hidden)]
    fn contiguous(&self, from: u64, max: u64) -> u64;

    /// The slots from `from` on.
    ///
    /// # Safety
    ///
    /// As long as `'a`, only slots that are published and not released may be read through the chunk, and no more
    /// than lie side by side.
    #[doc(hidden)]
    unsafe fn chunk<'a>(&self, from: u64) -> F::Chunk<'a>;

    /// What END holds.
    ///
    /// # Safety
    ///
    /// END, number `end`, must be published and not released as long as `'a`.
    #[doc(hidden)]
    unsafe fn at_end<'a>(&self, end: u64) -> Option<F::Ref<'a>>;

    /// Says that every number below `upto` is not needed any more.
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
}

/// A gate, without its secrets.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "hidden")]
pub struct HiddenGate(pub(crate) Gate);

/// A list of marks, without its secrets.
#[doc(hidden)]
#[expect(missing_debug_implementations, reason = "hidden")]
#[repr(transparent)]
pub struct HiddenMarks(pub(crate) MarkList);
