//! What the two ends of a ring share.

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

/// Who says how much is published. Whoever watches a ring has a copy, which keeps no slot alive.
#[derive(Clone)]
pub(crate) enum Published {
    /// One producer, the only writer of this counter.
    Producer(Counter),
    /// k writers: what their group has done.
    Group(Arc<RunWriters>),
    /// k writers: what all of them have passed.
    Team(Arc<KeyedWriters>),
}

pub(crate) struct Shared<S> {
    pub(crate) slots: Slots<S>,
    published: Published,
    /// END's number, or OPEN. Stored before the cursor that shows END, so whoever acquires that cursor sees it.
    end: CachePadded<AtomicU64>,
    /// Whether END has a slot with a value in it. Stored like `end`.
    end_slot: AtomicBool,
    /// What END holds where no other slot can be filled. Set before the cursor that shows END, and dropped with the ring.
    beside: OnceLock<Beside>,
    /// Every value below was dropped. Only whoever drops values stores it; a group's writers acquire it before they
    /// write over the slots.
    swept: CachePadded<AtomicU64>,
    pub(crate) gates: Arc<Gates>,
    marks: HiddenMarks,
    /// Of a ring whose slots can be empty: said once its shape, or that it is a mask, is known.
    empty_slots: OnceLock<EmptyCounter<S>>,
}

impl Published {
    /// One producer, which publishes `first` next.
    pub(crate) fn producer(first: u64) -> Self {
        Published::Producer(Counter::new(CachePadded::new(AtomicU64::new(first))))
    }

    /// Every number below the result is published. Acquires what was written into those slots.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> u64 {
        match self {
            Published::Producer(cursor) => cursor.load(Ordering::Acquire),
            Published::Group(group) => group.done(),
            Published::Team(team) => team.done(),
        }
    }
}

impl<S> Shared<S> {
    /// A ring whose first number is `first`: 0, or where those who fill it begin.
    pub(crate) fn new(capacity: usize, first: u64, published: Published) -> Result<Arc<Self>, CapacityError> {
        if !capacity.is_power_of_two() {
            return Err(CapacityError { slots: capacity });
        }
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

    /// Every number below the result is published, END counted. Acquires what was written into those slots. A group's
    /// cursor may seem to step back: keep the greatest.
    #[inline(always)]
    pub(crate) fn cursor(&self) -> u64 {
        self.published.cursor()
    }

    /// Its counters, to be read from outside.
    pub(crate) fn probe(&self) -> RingProbe {
        let sampler = self.empty_slots.get().map(|empty_slots| empty_slots.sampler.clone());
        RingProbe::new(self.published.clone(), self.gates.clone(), self.slots.capacity(), sampler)
    }

    /// Says how empty slots are known, if there can be any. Before anybody watches or writes.
    pub(crate) fn counts_empty(&self, empty_slots: impl FnOnce() -> EmptyCounter<S>) {
        let _ = self.empty_slots.get_or_init(empty_slots);
    }

    /// Who counts its empty slots, if there can be any.
    #[inline(always)]
    pub(crate) fn sampler(&self) -> Option<&OccupancySampler> {
        self.empty_slots.get().map(|empty_slots| &*empty_slots.sampler)
    }

    /// Looks at slots that are written, if somebody wants to know how many are empty, and their turn has come.
    ///
    /// # Safety
    ///
    /// The cells of these numbers must hold values, and nobody may write or drop them meanwhile.
    #[inline(always)]
    pub(crate) unsafe fn look(&self, first: u64, len: usize) {
        if let Some(sampler) = self.sampler().filter(|sampler| sampler.takes_this()) {
            // SAFETY: the same contract.
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
            // SAFETY: the same; there are no more numbers than cells, so those that are left lie where the cells begin.
            unsafe { empty_slots.count(slots, n) }
        };
        runs.into_iter().map(count).sum()
    }

    /// Shows every number below `next`. Only the single producer calls this.
    #[inline(always)]
    pub(crate) fn publish(&self, next: u64) {
        match &self.published {
            Published::Producer(cursor) => cursor.store(next, Ordering::Release),
            Published::Group(_) => unreachable!("a group publishes by its floors"),
            Published::Team(_) => unreachable!("a team publishes by its cursors"),
        }
    }

    /// Says that `end` is END, before the cursor shows it.
    pub(crate) fn set_end(&self, end: u64, has_slot: bool) {
        self.end_slot.store(has_slot, Ordering::Relaxed);
        self.end.store(end, Ordering::Relaxed);
    }

    /// Says that `end` is END, before the cursor shows it, and writes what it holds.
    ///
    /// # Safety
    ///
    /// END's cell must be the caller's alone and hold no value, unless END has no slot; `end` must be what the ring ends with.
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

    /// What END holds beside the slots; meaningful once the cursor behind END was acquired.
    pub(crate) fn beside(&self) -> Option<&(dyn Any + Send + Sync)> {
        self.beside.get().map(|last| &**last)
    }

    /// END's number once it is known; known to everybody who has acquired the cursor behind END.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether END has a slot; meaningful once the cursor behind END was acquired.
    pub(crate) fn end_has_slot(&self) -> bool {
        self.end_slot.load(Ordering::Relaxed)
    }

    pub(crate) fn swept(&self) -> u64 {
        self.swept.load(Ordering::Acquire)
    }

    /// Drops the values of the numbers from `swept` to `upto`: all of them, and none again, also if a drop panics.
    ///
    /// # Safety
    ///
    /// Every one of these slots must hold a value that all readers have released; nobody else may sweep.
    pub(crate) unsafe fn sweep(&self, upto: u64) {
        // SAFETY: the caller's contract; below a released number no run is unfinished.
        self.sweeping(upto, |numbers| unsafe { self.slots.drop_range(numbers) });
    }

    /// Numbers below the result may be written by one of several who fill this ring.
    pub(crate) fn room_of_several(&self, gating: &mut Gating, sweeping: &Mutex<()>) -> u64 {
        if std::mem::needs_drop::<S>() {
            self.sweep_for_several(gating, sweeping);
            self.swept() + self.slots.capacity()
        } else {
            gating.released(&self.gates, self.cursor()) + self.slots.capacity()
        }
    }

    /// Drops what every reader has released, for one of several who fill this ring; `sweeping` is theirs.
    pub(crate) fn sweep_for_several(&self, gating: &mut Gating, sweeping: &Mutex<()>) {
        if std::mem::needs_drop::<S>() {
            // Whoever holds the lock does this work.
            if let Some(_sweeping) = try_lock(sweeping) {
                let released = gating.released(&self.gates, self.cursor());
                // SAFETY: all readers have released these numbers, so they are below the cursor, all who fill the ring are
                // done with them, and they hold values that nobody looks at; the lock makes this the only one that sweeps.
                unsafe { self.sweep(released) };
            }
        }
    }

    /// As [`sweep`](Shared::sweep), and passes over empty slots.
    ///
    /// # Safety
    ///
    /// As [`sweep`](Shared::sweep), of every slot that is not a hole.
    unsafe fn sweep_but(&self, upto: u64, is_hole: impl Fn(u64) -> bool) {
        // SAFETY: the caller's contract: these slots hold values that nobody else touches.
        self.sweeping(upto, |numbers| unsafe { self.slots.drop_values(numbers.filter(|n| !is_hole(*n))) });
    }

    /// Has `drop` drop what was not swept below `upto`; also if it panics, that is swept then.
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

    /// The same bound without an END that has no slot.
    fn slots_below(&self, upto: u64) -> u64 {
        let end = self.end();
        if upto > end { end + u64::from(self.end_has_slot()) } else { upto }
    }

    pub(crate) fn marks(&self) -> &HiddenMarks {
        &self.marks
    }
}

impl<S> Drop for Shared<S> {
    fn drop(&mut self) {
        let (written, group, team) = match &self.published {
            Published::Producer(cursor) => (cursor.load(Ordering::Acquire), None, None),
            Published::Group(group) => (group.taken(), Some(group.clone()), None),
            // A writer that is ahead of the others has written some of what is below.
            Published::Team(team) => (self.swept() + self.slots.capacity(), None, Some(team.clone())),
        };
        let is_hole = |n| {
            group.as_ref().is_some_and(|group| group.is_unfinished(n))
                || team.as_ref().is_some_and(|team| !team.is_written(n))
        };
        // SAFETY: nobody else has this ring any more. Below `written` every slot from `swept` on holds a value, apart
        // from the runs of a group that were not finished and what the writers of a team did not write, and those are passed
        // over.
        unsafe { self.sweep_but(written, is_hole) };
    }
}
