//! Run writers: k writers share one input and one output ring, and each claims the next run of numbers that is free.
//!
//! `shard(k, body)` deploys each stage of its body in this way. A writer fills the same numbers of the output that it
//! has claimed of the input, so there is no splitter, no merger and no ring per shard. Uneven items balance themselves.
//! Any k works, and nested shards multiply: the group has the product of their sizes. A run is at most an equal share
//! of the numbers that are ready, so a few items also spread over the writers.
//!
//! `taken` is the next number that no writer has claimed. Each writer has a floor: the start of the run that it works
//! on, or none. A writer that claims writes its floor, then advances `taken` by compare-and-swap. What the group has
//! done is the minimum of `taken` and the floors, read in that order: a thread that sees `taken` beyond a run also sees
//! the floor that was written before it, or a later one. A writer that retries writes a floor that is too low, so the
//! minimum may seem to step back; every observer keeps its own maximum.
//!
//! A writer that loses the race for a run may have hidden finished numbers by that floor from a reader that looked at
//! that moment and then parked. [`RunWriter::fill_or_tell`] therefore reports it to its caller, which notifies.

use crate::error::CapacityError;
use crate::gate::{GONE, Gate};
use crate::reader::Reader;
use crate::run_writer::RunWriter;
use crate::shared::{Published, Shared};
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering};
use crate::text::{Kind, Span};
use crate::view::{HiddenGate, OneRing, RingLayout, View};
use crate::wiring::reader_at;
use crossbeam_utils::CachePadded;
use millstream_core::{Density, Item, Text, Val};

/// The wall of a group that does not retire.
const NO_WALL: u64 = u64::MAX;

/// The floor of a writer without a run.
const IDLE: u64 = u64::MAX;

struct Work {
    /// The first number of the run, or IDLE.
    floor: AtomicU64,
    /// The length of the run. Read only when all writers are dropped.
    len: AtomicU64,
}

/// The result of a writer's attempt to claim a run.
pub(crate) struct Claimed {
    /// The first number of the run and its length: none if there was nothing left to claim.
    pub(crate) run: Option<(u64, u64)>,
    /// Whether the attempt may have hidden finished numbers.
    pub(crate) hid: bool,
}

pub(crate) struct RunWriters {
    /// The number at which the group begins.
    first: u64,
    taken: CachePadded<AtomicU64>,
    work: Box<[CachePadded<Work>]>,
    /// The writers are dropped: the input's producer need not wait for them.
    left: AtomicBool,
    /// Held by the writer that drops released values of the output.
    pub(crate) sweeping: Mutex<()>,
    /// How many of the input's marks are copied to the output.
    pub(crate) marks: Mutex<u64>,
    /// No number from this one on is claimed: a mark there [retires](crate::MarkKind::Retire) the group.
    wall: AtomicU64,
}

impl RunWriters {
    fn new(k: usize, position: u64) -> Self {
        let idle = || CachePadded::new(Work { floor: AtomicU64::new(IDLE), len: AtomicU64::new(0) });
        RunWriters {
            first: position,
            taken: CachePadded::new(AtomicU64::new(position)),
            work: (0..k).map(|_| idle()).collect(),
            left: AtomicBool::new(false),
            sweeping: Mutex::new(()),
            marks: Mutex::new(0),
            wall: AtomicU64::new(NO_WALL),
        }
    }

    /// The number from which on the group claims nothing. A writer that sees a number published also sees the wall that
    /// a mark at or before that number makes, once the marks are copied.
    pub(crate) fn wall(&self) -> u64 {
        self.wall.load(Ordering::Acquire)
    }

    pub(crate) fn set_wall(&self, at: u64) {
        self.wall.store(at, Ordering::Release);
    }

    pub(crate) fn remove_wall(&self) {
        self.set_wall(NO_WALL);
    }

    /// The number that a writer works on, or would claim next.
    pub(crate) fn next(&self, writer: usize) -> u64 {
        let taken = self.taken();
        match self.work[writer].floor.load(Ordering::Acquire) {
            IDLE => taken,
            floor => floor,
        }
    }

    /// Whether this group begins after `end`, and therefore never reaches that number.
    pub(crate) fn begins_after(&self, end: u64) -> bool {
        self.first > end
    }

    pub(crate) fn writers(&self) -> u64 {
        self.work.len() as u64
    }

    pub(crate) fn taken(&self) -> u64 {
        self.taken.load(Ordering::Acquire)
    }

    /// Every number below the result is done. Acquires all that the writers did, by their floors.
    pub(crate) fn done(&self) -> u64 {
        let taken = self.taken();
        self.work.iter().map(|work| work.floor.load(Ordering::Acquire)).min().unwrap_or(IDLE).min(taken)
    }

    /// The gate of the group: the input's producer waits for it.
    pub(crate) fn gate(&self) -> u64 {
        if self.left.load(Ordering::Acquire) { GONE } else { self.done() }
    }

    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Claims a run for a writer: from `taken` on, below `limit`, of length `len(start)`.
    ///
    /// If another writer was faster, this one's floor may have been below numbers that are done, and have hidden them
    /// from readers that looked meanwhile. They are visible again when this returns.
    pub(crate) fn claim(&self, writer: usize, limit: u64, len: impl Fn(u64) -> u64) -> Claimed {
        let work = &self.work[writer];
        let mut taken = self.taken();
        let mut hid = false;
        loop {
            if taken >= limit {
                self.finish(writer);
                return Claimed { run: None, hid };
            }
            let run = len(taken);
            work.len.store(run, Ordering::Relaxed);
            work.floor.store(taken, Ordering::Release);
            // The release half shows the floor to every thread that sees the new `taken`.
            match self.taken.compare_exchange(taken, taken + run, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Claimed { run: Some((taken, run)), hid },
                Err(now) => (taken, hid) = (now, true),
            }
        }
    }

    /// Records that the writer's run is done: releases all that it read and wrote.
    pub(crate) fn finish(&self, writer: usize) {
        self.work[writer].floor.store(IDLE, Ordering::Release);
    }

    /// Whether number `n` belongs to a run that was given up. Called only when all writers are dropped.
    pub(crate) fn is_unfinished(&self, n: u64) -> bool {
        self.work.iter().any(|work| {
            let floor = work.floor.load(Ordering::Relaxed);
            floor != IDLE && floor <= n && n < floor.saturating_add(work.len.load(Ordering::Relaxed))
        })
    }
}

/// Moves the input to `k` writers, which fill one output ring: number n of the output from number n of the input. The
/// output's reader begins at the input's position. If the input [stops at marks](Reader::stops_at_marks), a writer
/// takes END when it has [passed](RunWriter::pass_mark) the marks up to there.
///
/// # Errors
///
/// If `capacity`, that of the output ring, is not a power of two.
///
/// # Panics
///
/// If `k` is 0.
#[expect(clippy::type_complexity, reason = "the writers and the reader of their output")]
pub fn run_writers<F: RingLayout, T: Item, D: Density>(
    input: Reader<F>,
    k: usize,
    capacity: usize,
) -> Result<(Vec<RunWriter<F, D::Slot<T>>>, Reader<Val<T, D>>), CapacityError> {
    group_of(input, k, capacity)
}

/// As [`run_writers`], of text.
///
/// # Errors
///
/// As [`run_writers`].
///
/// # Panics
///
/// As [`run_writers`].
#[expect(clippy::type_complexity, reason = "the writers and the reader of their output")]
pub fn text_run_writers<F: RingLayout, T: Kind + ?Sized, D: Density>(
    input: Reader<F>,
    k: usize,
    capacity: usize,
) -> Result<(Vec<RunWriter<F, D::Slot<Span<T>>>>, Reader<Text<T, D>>), CapacityError> {
    group_of(input, k, capacity)
}

#[expect(clippy::type_complexity, reason = "the writers and the reader of their output")]
fn group_of<F: RingLayout, B: OneRing>(
    mut input: Reader<F>,
    k: usize,
    capacity: usize,
) -> Result<(Vec<RunWriter<F, B::Slot>>, Reader<B>), CapacityError> {
    assert!(k >= 1, "a group needs at least one writer");
    let state = Arc::new(RunWriters::new(k, input.position));
    let shared = Shared::<B::Slot>::new(capacity, input.position, Published::Group(state.clone()))?;
    input.view.regate(&HiddenGate(Gate::Group(state.clone())));
    let (view, stops) = (Arc::new(input.view), input.coming.stops);
    let output = reader_at::<B>(&shared, input.position);
    let mut writers = Vec::with_capacity(k);
    for index in 0..k {
        writers.push(RunWriter::new(index, view.clone(), stops, shared.clone(), state.clone()));
    }
    Ok((writers, output))
}
