//! The state that the two ends of a ring share.

use crate::error::CapacityError;
use crate::gate::{Counter, Gates, Gating};
use crate::keyed_writers::KeyedWriters;
use crate::last::Last;
use crate::mark::MarkList;
use crate::occupancy::{EmptyCounter, OccupancySampler};
use crate::probe::RingProbe;
use crate::run_writers::RunWriters;
use crate::slots::Slots;
use crate::sync::{Arc, AtomicBool, AtomicU64, Mutex, Ordering, try_lock};
use crate::view::{Beside, HiddenMarks};
use crossbeam_utils::CachePadded;
use std::any::Any;
use std::ops::Range;
use std::sync::OnceLock;

/// The END number of a stream that has not ended.
pub(crate) const OPEN: u64 = u64::MAX;

/// No ring begins beyond this number, and no number from here on passes by without a slot. The numbers beyond it take
/// decades to publish, so they never wrap around.
pub(crate) const MOST: u64 = 1 << 63;

/// The cursor of a ring, by its kind of writer. Observers have copies, which keep no slot alive.
#[derive(Clone)]
pub(crate) enum Published {
    /// One producer, the only writer of this counter.
    Producer(Counter),
    /// k run writers: the numbers that their group has finished.
    Group(Arc<RunWriters>),
    /// k keyed writers: the numbers that all of them have passed.
    Team(Arc<KeyedWriters>),
}

pub(crate) struct Shared<S> {
    pub(crate) slots: Slots<S>,
    published: Published,
    /// END's number, or OPEN. Stored before the cursor that shows END, so a thread that acquires that cursor sees it.
    end: CachePadded<AtomicU64>,
    /// Whether END has a slot with a value in it. Stored like `end`.
    end_slot: AtomicBool,
    /// The value of END on an edge that is filled only at END. Set before the cursor that shows END, and dropped with
    /// the ring.
    beside: OnceLock<Beside>,
    /// Every value below was dropped. Only the thread that drops values stores it; run writers and keyed writers
    /// acquire it before they write into the slots.
    swept: CachePadded<AtomicU64>,
    pub(crate) gates: Arc<Gates>,
    marks: HiddenMarks,
    /// Of a ring whose slots can be empty: set once its shape is known, or that it is a mask.
    empty_slots: OnceLock<EmptyCounter<S>>,
}

impl Published {
    /// One producer, which publishes `first` next.
    pub(crate) fn producer(first: u64) -> Self {
        Published::Producer(Counter::new(CachePadded::new(AtomicU64::new(first))))
    }

    /// Every number below the result is published. Acquires the contents of those slots.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> u64 {
        match self {
            Published::Producer(cursor) => cursor.load(Ordering::Acquire),
            Published::Group(group) => group.done(),
            Published::Team(keyed) => keyed.done(),
        }
    }
}

impl<S> Shared<S> {
    /// A ring whose first number is `first`: 0, or the number at which its writers begin.
    pub(crate) fn new(capacity: usize, first: u64, published: Published) -> Result<Arc<Self>, CapacityError> {
        if !capacity.is_power_of_two() {
            return Err(CapacityError { slots: capacity });
        }
        assert!(first <= MOST, "a ring begins at number {first}, beyond 2^63");
        Ok(Arc::new(Shared {
            slots: Slots::new(capacity),
            published,
            end: CachePadded::new(AtomicU64::new(OPEN)),
            end_slot: AtomicBool::new(false),
            beside: OnceLock::new(),
            swept: CachePadded::new(AtomicU64::new(first)),
            gates: Arc::new(Gates::new()),
            marks: HiddenMarks(MarkList::new()),
            empty_slots: OnceLock::new(),
        }))
    }

    /// Every number below the result is published, END included. Acquires the contents of those slots. With several
    /// writers the cursor may seem to step back: keep the greatest.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> u64 {
        self.published.cursor()
    }

    /// Its counters, for observers.
    pub(crate) fn probe(&self) -> RingProbe {
        let sampler = self.empty_slots.get().map(|empty_slots| empty_slots.sampler.clone());
        RingProbe::new(self.published.clone(), self.gates.clone(), self.slots.capacity(), sampler)
    }

    /// Sets the counter of empty slots, if there can be any. Called before the ring is observed or written.
    pub(crate) fn counts_empty(&self, empty_slots: impl FnOnce() -> EmptyCounter<S>) {
        let _ = self.empty_slots.get_or_init(empty_slots);
    }

    /// The sampler of its empty slots, if there can be any.
    #[inline(always)]
    pub(crate) fn sampler(&self) -> Option<&OccupancySampler> {
        self.empty_slots.get().map(|empty_slots| &*empty_slots.sampler)
    }

    /// Counts the empty ones of slots that are written, if counting is on and this batch is examined.
    ///
    /// # Safety
    ///
    /// The cells of these numbers must hold values, and no thread may write or drop them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn look(&self, first: u64, len: usize) {
        if let Some(sampler) = self.sampler().filter(|sampler| sampler.takes_this()) {
            // SAFETY: the caller's contract.
            sampler.count(len, unsafe { self.empty(first, len) });
        }
    }

    /// How many of these slots are empty.
    ///
    /// # Safety
    ///
    /// As [`look`](Shared::look).
    #[cold]
    pub(crate) unsafe fn empty(&self, first: u64, len: usize) -> usize {
        let Some(empty_slots) = self.empty_slots.get() else { return 0 };
        let here = self.slots.contiguous(first, len as u64) as usize;
        let runs = [(first, here), (first + here as u64, len - here)];
        let count = |(first, n)| {
            // SAFETY: the caller's contract.
            let slots = unsafe { self.slots.slice(first) };
            // SAFETY: the caller's contract; there are no more numbers than cells, so the remaining ones begin at the
            // first cell.
            unsafe { empty_slots.count(slots, n) }
        };
        runs.into_iter().map(count).sum()
    }

    /// Shows every number below `next`. Only the single producer calls this.
    #[inline(always)]
    pub(crate) fn publish(&self, next: u64) {
        match &self.published {
            Published::Producer(cursor) => cursor.store(next, Ordering::Release),
            Published::Group(_) => unreachable!("run writers publish by their floors"),
            Published::Team(_) => unreachable!("keyed writers publish by their cursors"),
        }
    }

    /// Shows every number below `next`, of which those that are not swept have no slots. Only the single producer calls
    /// this, of a ring with nothing in it.
    pub(crate) fn pass_by(&self, next: u64) {
        self.swept.store(next, Ordering::Release);
        self.publish(next);
    }

    /// Sets END's number, before the cursor shows it.
    pub(crate) fn set_end(&self, end: u64, has_slot: bool) {
        self.end_slot.store(has_slot, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Sets END's number and writes its value, before the cursor shows it.
    ///
    /// # Safety
    ///
    /// END's cell must hold no value, and no other thread may use it, unless END has no slot; `end` must be the ring's
    /// END.
    pub(crate) unsafe fn write_end(&self, end: u64, last: Option<Last<S>>) {
        let Last { slot, beside } = last.unwrap_or(Last { slot: None, beside: None });
        self.set_end(end, slot.is_some());
        if let Some(slot) = slot {
            // SAFETY: the caller's contract.
            unsafe { self.slots.cells(end).write(0, slot) };
        }
        if let Some(beside) = beside {
            // END is written once.
            let _ = self.beside.set(beside);
        }
    }

    /// The value of END beside the slots; meaningful once the cursor beyond END was acquired.
    pub(crate) fn beside(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.beside.get().map(|last| &**last)
    }

    /// END's number, or OPEN. Every thread that has acquired the cursor beyond END knows END's number.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether END has a slot; meaningful once the cursor beyond END was acquired.
    pub(crate) fn end_has_slot(&self) -> bool {
        self.end_slot.load(Ordering::Relaxed)
    }

    pub(crate) fn swept(&self) -> u64 {
        self.swept.load(Ordering::Acquire)
    }

    /// Drops the values of the numbers from `swept` to `upto`. If a drop panics, the others are dropped all the same,
    /// and none is dropped again.
    ///
    /// # Safety
    ///
    /// Every one of these slots must hold a value that all readers have released; no other thread may sweep.
    pub(crate) unsafe fn sweep(&self, upto: u64) {
        // SAFETY: the caller's contract; below a released number every run is finished.
        self.sweeping(upto, |numbers| unsafe { self.slots.drop_range(numbers) });
    }

    /// Numbers below the result may be written by one of several writers of this ring.
    pub(crate) fn room_of_several(&self, gating: &mut Gating, sweeping: &Mutex<()>) -> u64 {
        if std::mem::needs_drop::<S>() {
            self.sweep_for_several(gating, sweeping);
            self.swept() + self.slots.capacity()
        } else {
            gating.released(&self.gates, self.cursor()) + self.slots.capacity()
        }
    }

    /// Drops all that every reader has released, for one of several writers of this ring; `sweeping` is their lock.
    pub(crate) fn sweep_for_several(&self, gating: &mut Gating, sweeping: &Mutex<()>) {
        if std::mem::needs_drop::<S>() {
            // The writer that holds the lock does this work.
            if let Some(_sweeping) = try_lock(sweeping) {
                let released = gating.released(&self.gates, self.cursor());
                // SAFETY: all readers have released these numbers, so they are below the cursor, all writers of the
                // ring are done with them, and they hold values that no thread looks at; the lock makes this the only
                // one that sweeps.
                unsafe { self.sweep(released) };
            }
        }
    }

    /// As [`sweep`](Shared::sweep), without the slots that hold no value.
    ///
    /// # Safety
    ///
    /// As [`sweep`](Shared::sweep), of every slot that is not unwritten.
    unsafe fn sweep_but(&self, upto: u64, is_unwritten: impl Fn(u64) -> bool) {
        // SAFETY: the caller's contract: these slots hold values that no other thread touches.
        self.sweeping(upto, |numbers| unsafe { self.slots.drop_values(numbers.filter(|n| !is_unwritten(*n))) });
    }

    /// Calls `drop` with the numbers from `swept` to `upto`, and stores `upto` as swept, also if `drop` panics.
    fn sweeping(&self, upto: u64, drop: impl FnOnce(Range<u64>)) {
        struct Advance<'a>(&'a AtomicU64, u64);
        impl Drop for Advance<'_> {
            fn drop(&mut self) {
                self.0.store(self.1, Ordering::Release);
            }
        }
        let from = self.swept.load(Ordering::Relaxed);
        let upto = self.slots_below(upto).max(from);
        let _advance = Advance(&self.swept, upto);
        drop(from..upto);
    }

    /// The same bound, without END if END has no slot; `upto` is no more than an acquired cursor.
    pub(crate) fn slots_below(&self, upto: u64) -> u64 {
        let end = self.end();
        if upto > end { end + u64::from(self.end_has_slot()) } else { upto }
    }

    pub(crate) fn marks(&self) -> &HiddenMarks {
        &self.marks
    }
}

impl<S> Drop for Shared<S> {
    fn drop(&mut self) {
        let (written, group, keyed) = match &self.published {
            Published::Producer(cursor) => (cursor.load(Ordering::Acquire), None, None),
            Published::Group(group) => (group.taken(), Some(group.clone()), None),
            // A writer that is ahead of the others has written some of the numbers below.
            Published::Team(keyed) => (self.swept() + self.slots.capacity(), None, Some(keyed.clone())),
        };
        let is_unwritten = |n| {
            group.as_ref().is_some_and(|group| group.is_unfinished(n))
                || keyed.as_ref().is_some_and(|keyed| !keyed.is_written(n))
        };
        // SAFETY: this is the last owner of the ring. Below `written` every slot from `swept` on holds a value, except
        // those of unfinished runs and those that no keyed writer has written; these are skipped.
        unsafe { self.sweep_but(written, is_unwritten) };
    }
}
