//! Keyed writers: k writers read all numbers of one input and write one output ring. Each fills the numbers whose keys
//! are its own.
//!
//! Each writer has a reader with its own position. A number is done when all writers have passed it: the ring's cursor
//! is the least of theirs. All writers must agree on the owner of a number, or two of them would write one cell. They
//! therefore read the owner from the ring of key slots, which holds plain integers that are published and not written
//! again; no user function is called twice.
//!
//! All writers share one output ring. A stage in the body of a `shard_by` therefore writes the type that it would write
//! without keys, any body fits, and the next stage reads one ring.

use crate::error::CapacityError;
use crate::keyed_writer::KeyedWriter;
use crate::reader::Reader;
use crate::shared::{Published, Shared};
use crate::sync::{Arc, AtomicU64, Mutex, Ordering};
use crate::view::RingLayout;
use crate::wiring::reader_at;
use crossbeam_utils::CachePadded;
use millstream_core::keys::KeySlot;
use millstream_core::{Density, Item, Sparse, Val};

pub(crate) struct KeyedWriters {
    /// Of each writer: it has passed every number below. The writer alone stores it.
    cursors: Box<[CachePadded<AtomicU64>]>,
    /// Of each cell: one more than the number whose value was last written there. Kept only if values have to be
    /// dropped.
    written: Box<[AtomicU64]>,
    /// Held by the writer that drops released values of the output.
    pub(crate) sweeping: Mutex<()>,
    /// How many of the input's marks are copied to the output.
    pub(crate) marks: Mutex<u64>,
}

impl KeyedWriters {
    pub(crate) fn new<S>(k: usize, position: u64, capacity: usize) -> Self {
        let cells = if std::mem::needs_drop::<S>() { capacity } else { 0 };
        KeyedWriters {
            cursors: (0..k).map(|_| CachePadded::new(AtomicU64::new(position))).collect(),
            written: (0..cells).map(|_| AtomicU64::new(0)).collect(),
            sweeping: Mutex::new(()),
            marks: Mutex::new(0),
        }
    }

    /// Every number below the result is done. Acquires all that the writers wrote.
    #[inline]
    pub(crate) fn done(&self) -> u64 {
        self.cursors.iter().map(|cursor| cursor.load(Ordering::Acquire)).min().unwrap_or(0)
    }

    /// Records that a writer has passed every number below `next`, and releases what it wrote.
    #[inline]
    pub(crate) fn pass(&self, writer: usize, next: u64) {
        self.cursors[writer].store(next, Ordering::Release);
    }

    /// Records that number `n` was written. Its owner calls this.
    #[inline]
    pub(crate) fn note(&self, n: u64) {
        if let Some(cell) = self.cell(n) {
            cell.store(n + 1, Ordering::Relaxed);
        }
    }

    /// Whether number `n` was written. Called only when all writers are dropped.
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

/// Moves the input to `k` writers, which fill one output ring: number n of the output from number n of the input. The
/// lane in n's key slot is the index of its writer. A lane beyond the last writer belongs to the last writer, and a
/// number without a key slot to the first. The output's reader begins at the input's position.
///
/// # Errors
///
/// If `capacity`, that of the output ring, is not a power of two.
///
/// # Panics
///
/// If `k` is 0.
#[expect(clippy::type_complexity, reason = "the writers and the reader of their output")]
pub fn keyed_writers<F: RingLayout, T: Item, D: Density>(
    input: Reader<F>,
    key_slots: Reader<Val<KeySlot, Sparse>>,
    k: usize,
    capacity: usize,
) -> Result<(Vec<KeyedWriter<F, D::Slot<T>>>, Reader<Val<T, D>>), CapacityError> {
    assert!(k >= 1, "at least one writer is needed");
    let first = input.zip(key_slots);
    let position = first.position;
    if !capacity.is_power_of_two() {
        return Err(CapacityError { slots: capacity });
    }
    let state = Arc::new(KeyedWriters::new::<D::Slot<T>>(k, position, capacity));
    let shared = Shared::<D::Slot<T>>::new(capacity, position, Published::Team(state.clone()))?;
    let output = reader_at::<Val<T, D>>(&shared, position);
    let mut writers = Vec::with_capacity(k);
    for index in 1..k {
        writers.push(KeyedWriter::new(index, k, first.fork(), shared.clone(), state.clone()));
    }
    writers.insert(0, KeyedWriter::new(0, k, first, shared, state));
    Ok((writers, output))
}
