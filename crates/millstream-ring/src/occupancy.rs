//! The share of slots that a stage leaves empty. They are counted when a batch is published, not when it is written.
//!
//! The tasklet that wrote the batch looks at its slots once more before the cursor moves: at the first 16 batches of an
//! observed run, and at one in 256 afterwards. The loops over items therefore contain no counting. Rings whose type has
//! no empty slots are not examined.

use crate::slots::SlotSlice;
use crate::view::OneRing;
// These order nothing: loom has nothing to explore in them.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// This many batches are all examined.
const FIRST: u64 = 16;

/// Of the later batches, one in 2^8 is examined.
const SHIFT: u32 = 8;

/// 2^64 divided by the golden ratio: its multiples, modulo 2^64, are spread evenly, and follow no pattern in the data.
const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// How many slots were examined, and how many of those were empty.
///
/// They belong to the first 16 batches after [counting was switched on](crate::RingProbe::look), and to one in 256 of
/// the later ones. END is not included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Occupancy {
    /// The number of slots examined.
    pub looked_at: u64,
    /// How many of them were empty.
    pub empty: u64,
}

/// The counts so far.
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

    /// Whether to examine the batch that was just written.
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
        // A writer may be between its two additions.
        Occupancy { looked_at, empty: empty.min(looked_at) }
    }
}

/// How many of the first `n` slots are empty.
///
/// # Safety
///
/// There must be `n` slots, and each must hold something.
type Count<S> = unsafe fn(SlotSlice<'_, S>, usize) -> usize;

/// The sampler of a ring whose slots can be empty, and the function that counts them.
pub(crate) struct EmptyCounter<S> {
    pub(crate) sampler: Arc<OccupancySampler>,
    count: Count<S>,
}

impl<S> EmptyCounter<S> {
    /// The counter of a shape.
    pub(crate) fn of<F: OneRing<Slot = S>>() -> Self {
        EmptyCounter {
            sampler: Arc::default(),
            // SAFETY: the contract of `Count`.
            count: |slots, n| count_empty(n, |i| unsafe { F::is_filled(&slots, i) }),
        }
    }

    /// How many of the first `n` slots are empty.
    ///
    /// # Safety
    ///
    /// There must be `n` slots, and each must hold something.
    pub(crate) unsafe fn count(&self, slots: SlotSlice<'_, S>, n: usize) -> usize {
        // SAFETY: the same contract.
        unsafe { (self.count)(slots, n) }
    }
}

impl EmptyCounter<bool> {
    /// The counter of a mask: a slot is empty if its flag is false.
    pub(crate) fn of_mask() -> Self {
        // SAFETY: the contract of `Count`.
        EmptyCounter { sampler: Arc::default(), count: |slots, n| count_empty(n, |i| unsafe { *slots.get(i) }) }
    }
}

#[inline(always)]
fn count_empty(n: usize, filled: impl Fn(usize) -> bool) -> usize {
    (0..n).filter(|i| !filled(*i)).count()
}
