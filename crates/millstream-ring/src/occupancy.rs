//! The share of slots that a stage leaves empty: counted when a batch is published, not where it is written.
//!
//! The tasklet that wrote the batch looks at its slots once more before the cursor moves: at the first 16 batches of an
//! observed run, and at one in 256 afterwards. So no loop over items knows of it. Rings that have no empty slots by
//! their type are not looked at.

use crate::slots::SlotSlice;
use crate::view::OneRing;
// These order nothing, so that there is nothing to explore of them.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// So many batches are all looked at.
const FIRST: u64 = 16;

/// One in 2^8 is of those behind.
const SHIFT: u32 = 8;

/// 2^64 over the golden ratio: multiples of it, modulo 2^64, are spread evenly, and keep step with no pattern in the data.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// How many slots were looked at, and how many of those were left empty.
///
/// They are those of the first 16 batches that were written since somebody [wanted to know](crate::RingProbe::look), and of one
/// batch in 256 behind; END is not among them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// How many slots were looked at.
    pub looked_at: u64,
    /// How many of them were empty.
    pub empty: u64,
}

/// What was counted so far.
#[derive(Debug, Default)]
pub(crate) struct OccupancySampler {
    wanted: AtomicBool,
    batches: AtomicU64,
    looked_at: AtomicU64,
    empty: AtomicU64,
}

impl OccupancySampler {
    pub(crate) fn want(&self, wanted: bool) {
        self.wanted.store(wanted, Relaxed);
    }

    /// Whether the batch that was just written is to be looked at.
    #[inline(always)]
    pub(crate) fn takes_this(&self) -> bool {
        self.wanted.load(Relaxed) && self.next_is_taken()
    }

    #[cold]
    fn next_is_taken(&self) -> bool {
        let batch = self.batches.fetch_add(1, Relaxed);
        batch < FIRST || batch.wrapping_mul(SPREAD) >> (u64::BITS - SHIFT) == 0
    }

    pub(crate) fn count(&self, looked_at: usize, empty: usize) {
        self.looked_at.fetch_add(looked_at as u64, Relaxed);
        self.empty.fetch_add(empty as u64, Relaxed);
    }

    pub(crate) fn counted(&self) -> Occupancy {
        let (empty, looked_at) = (self.empty.load(Relaxed), self.looked_at.load(Relaxed));
        // Somebody may be in between.
        Occupancy { looked_at, empty: empty.min(looked_at) }
    }
}

/// How many of so many slots are empty.
///
/// # Safety
///
/// There must be as many, and each must hold something.
type Count<S> = unsafe fn(SlotSlice<'_, S>, usize) -> usize;

/// The sampler of a ring whose slots can be empty, and how to see that they are.
pub(crate) struct EmptyCounter<S> {
    pub(crate) sampler: Arc<OccupancySampler>,
    count: Count<S>,
}

impl<S> EmptyCounter<S> {
    /// Those of a shape.
    pub(crate) fn of<F: OneRing<Slot = S>>() -> Self {
        // SAFETY: the contract of `Count`.
        EmptyCounter { sampler: Arc::default(), count: |slots, n| tally(n, |i| unsafe { F::is_filled(&slots, i) }) }
    }

    /// How many of so many slots are empty.
    ///
    /// # Safety
    ///
    /// There must be as many, and each must hold something.
    pub(crate) unsafe fn count(&self, slots: SlotSlice<'_, S>, n: usize) -> usize {
        // SAFETY: the same contract.
        unsafe { (self.count)(slots, n) }
    }
}

impl EmptyCounter<bool> {
    /// Those of a mask: what it does not flag is left out.
    pub(crate) fn of_mask() -> Self {
        // SAFETY: the contract of `Count`.
        EmptyCounter { sampler: Arc::default(), count: |slots, n| tally(n, |i| unsafe { *slots.get(i) }) }
    }
}

#[inline(always)]
fn tally(n: usize, filled: impl Fn(usize) -> bool) -> usize {
    (0..n).filter(|i| !filled(*i)).count()
}
