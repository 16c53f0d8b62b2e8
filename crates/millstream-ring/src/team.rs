//! Keyed writers: k mates read all numbers of one input and write one output ring, each the numbers whose keys are its
//! own.
//!
//! Each mate has a reader with its own position. What the team has done is the least of the mates' cursors. All mates
//! must agree on the owner of a number, or two of them would write one cell. So they read the owner from the ring of
//! key slots, which holds plain integers that are published and not written again; no user function is called twice.
//!
//! There is one output ring and not one per mate. So a stage in the body of a `shard_by` writes the type that it would
//! write without keys, any body fits, and the next stage reads one ring.

use crate::error::CapacityError;
use crate::mate::Mate;
use crate::reader::Reader;
use crate::shared::{Published, Shared};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::view::Wire;
use crate::wiring::reader_at;
use crossbeam_utils::CachePadded;
use millstream_core::keys::Seat;
use millstream_core::{Density, Event, Holed, Val};

pub(crate) struct TeamState {
    /// Every number below was passed by this mate. It alone writes it.
    cursors: Box<[CachePadded<AtomicU64>]>,
    /// For each cell, the number behind that of the value that was last written there: only where values have to be dropped.
    written: Box<[AtomicU64]>,
    /// Held by the mate that drops released values of the output.
    pub(crate) sweeping: Mutex<()>,
    /// How many of the input's marks lie on the output.
    pub(crate) marks: Mutex<u64>,
}

impl TeamState {
    pub(crate) fn new<S>(k: usize, position: u64, capacity: usize) -> Self {
        let cells = if std::mem::needs_drop::<S>() { capacity } else { 0 };
        TeamState {
            cursors: (0..k).map(|_| CachePadded::new(AtomicU64::new(position))).collect(),
            written: (0..cells).map(|_| AtomicU64::new(0)).collect(),
            sweeping: Mutex::new(()),
            marks: Mutex::new(0),
        }
    }

    /// Every number below the result is done. Acquires what the mates did.
    #[inline]
    pub(crate) fn done(&self) -> u64 {
        self.cursors.iter().map(|cursor| cursor.load(Ordering::Acquire)).min().unwrap_or(0)
    }

    /// Says that a mate has passed every number below `next`: releases what it wrote.
    #[inline]
    pub(crate) fn pass(&self, mate: usize, next: u64) {
        self.cursors[mate].store(next, Ordering::Release);
    }

    /// Notes that number `n` was written, by whose it is.
    #[inline]
    pub(crate) fn note(&self, n: u64) {
        if let Some(cell) = self.cell(n) {
            cell.store(n + 1, Ordering::Relaxed);
        }
    }

    /// Whether number `n` was written. Only when all mates are gone.
    pub(crate) fn is_written(&self, n: u64) -> bool {
        self.cell(n).is_some_and(|cell| cell.load(Ordering::Relaxed) == n + 1)
    }

    #[inline]
    fn cell(&self, n: u64) -> Option<&AtomicU64> {
        // The length is a power of two, or 0.
        let mask = (self.written.len() as u64).checked_sub(1)?;
        self.written.get((n & mask) as usize)
    }
}

/// Gives the input to `k` mates, who fill one output ring: number n of the output from number n of the input, by the mate
/// of the lane in n's seat, or the last mate if there are fewer lanes, or the first if n has no seat. The output's reader
/// begins where the input's reader is.
///
/// # Errors
///
/// If `capacity`, the output ring's, is not a power of two.
///
/// # Panics
///
/// If `k` is 0.
#[expect(clippy::type_complexity, reason = "the mates and the reader of their output")]
pub fn team<F: Wire, T: Event, D: Density>(
    input: Reader<F>,
    seats: Reader<Val<Seat, Holed>>,
    k: usize,
    capacity: usize,
) -> Result<(Vec<Mate<F, D::Slot<T>>>, Reader<Val<T, D>>), CapacityError> {
    assert!(k >= 1, "a team needs at least one mate");
    let first = input.zip(seats);
    let position = first.position;
    if !capacity.is_power_of_two() {
        return Err(CapacityError { slots: capacity });
    }
    let state = Arc::new(TeamState::new::<D::Slot<T>>(k, position, capacity));
    let shared = Shared::<D::Slot<T>>::new(capacity, position, Published::Team(state.clone()))?;
    let output = reader_at::<Val<T, D>>(&shared, position);
    let mut readers: Vec<_> = (1..k).map(|_| first.fork()).collect();
    readers.push(first);
    let mates = readers.into_iter().enumerate();
    let mates = mates.map(|(index, reader)| Mate::new(index, k, reader, shared.clone(), state.clone())).collect();
    Ok((mates, output))
}
