//! The storage: cells that hold a value or nothing, without a record of which. The layers above decide which thread may
//! touch a cell.

use crate::sync::UnsafeCell;
use crate::view::BasePtr;
use std::{fmt, marker::PhantomData, mem::MaybeUninit, ops::Range};

pub(crate) struct Slots<S> {
    /// The cells, with a few before or after them that are never used.
    storage: Box<[UnsafeCell<MaybeUninit<S>>]>,
    /// The index of the first cell in use: it begins at a cache line.
    first: usize,
    capacity: usize,
}

/// Bytes of a cache line. Loops over cells store half a line at a time. The allocator's blocks begin 16 bytes after the
/// begin of a line; with cells at that offset, every other store crosses into the next line, which costs cheap stages a
/// tenth to a sixth of their speed.
const LINE: usize = 64;

// SAFETY: through a shared `Slots` one thread moves values in and drops them (S: Send) while others hold references to
// other cells (S: Sync). The contracts of the unsafe methods say which thread may touch which cell.
unsafe impl<S: Send + Sync> Sync for Slots<S> {}
// SAFETY: sending the storage sends the values.
unsafe impl<S: Send> Send for Slots<S> {}

impl<S> Slots<S> {
    pub(crate) fn new(capacity: usize) -> Self {
        // Among this many consecutive cells, one begins where a line does, if any cell ever does.
        let spare = LINE >> size_of::<S>().trailing_zeros().min(LINE.ilog2());
        let storage = empty_cells(capacity + spare);
        let first = storage.as_ptr().align_offset(LINE);
        Slots { storage, first: if first <= spare { first } else { 0 }, capacity }
    }

    pub(crate) fn capacity(&self) -> u64 {
        self.capacity as u64
    }

    #[inline(always)]
    fn cells_in_order(&self) -> &[UnsafeCell<MaybeUninit<S>>] {
        &self.storage[self.first..][..self.capacity]
    }

    /// The index of number `n`.
    fn index(&self, n: u64) -> usize {
        (n & (self.capacity() - 1)) as usize
    }

    /// How many numbers from `n` on, at most `max`, are stored side by side.
    pub(crate) fn contiguous(&self, n: u64, max: u64) -> u64 {
        max.min(self.capacity() - self.index(n) as u64)
    }

    /// The cells from number `n` on, to be written.
    #[inline(always)]
    pub(crate) fn cells(&self, n: u64) -> Cells<'_, S> {
        Cells { cells: Cursor::new(self.cells_in_order(), self.index(n)) }
    }

    /// The cells from number `n` on, to be read.
    ///
    /// # Safety
    ///
    /// For as long as `'a`, every cell that is read through the slice must hold a value and must not be written.
    #[inline(always)]
    pub(crate) unsafe fn slice<'a>(&self, n: u64) -> SlotSlice<'a, S> {
        SlotSlice { cells: Cursor::new(self.cells_in_order(), self.index(n)), lent: PhantomData }
    }

    /// All cells, to be written by number.
    pub(crate) fn around(&self) -> Around<'_, S> {
        Around { cells: self.cells(0), last: self.capacity() - 1 }
    }

    /// Drops the values of these numbers. If a drop panics, the remaining values are dropped as well.
    ///
    /// # Safety
    ///
    /// As [`drop_values`](Slots::drop_values), and there must not be more numbers than cells.
    pub(crate) unsafe fn drop_range(&self, numbers: Range<u64>) {
        if std::mem::needs_drop::<S>() && !numbers.is_empty() {
            let (first, len) = (self.index(numbers.start), (numbers.end - numbers.start) as usize);
            let (before, after) = self.cells_in_order().split_at(first);
            let here = len.min(after.len());
            // Dropped in turn, and the second also if a drop in the first panics.
            let _around = Doomed(&before[..len - here]);
            let _here = Doomed(&after[..here]);
        }
    }

    /// Drops the values of these numbers. If a drop panics, the remaining values are dropped as well.
    ///
    /// # Safety
    ///
    /// Every cell must hold a value that no other thread reads, writes or drops; no number may occur twice.
    pub(crate) unsafe fn drop_values(&self, numbers: impl Iterator<Item = u64>) {
        if std::mem::needs_drop::<S>() {
            let mut rest = Rest { slots: self, numbers };
            // SAFETY: the caller's contract.
            unsafe { rest.drop_all() };
        }
    }

    /// Drops the value of number `n`.
    ///
    /// # Safety
    ///
    /// As [`drop_values`](Slots::drop_values), of this one number.
    unsafe fn drop_value(&self, n: u64) {
        with_mut(&self.cells_in_order()[self.index(n)], |cell| {
            // SAFETY: the caller's contract: no other thread uses the cell.
            let value = unsafe { &mut *cell };
            // SAFETY: the caller's contract: it holds a value, which is not dropped again.
            unsafe { value.assume_init_drop() }
        });
    }
}

/// Cells that hold nothing, allocated in place: a slot can be larger than a stack.
#[cfg(not(loom))]
fn empty_cells<S>(n: usize) -> Box<[UnsafeCell<MaybeUninit<S>>]> {
    // SAFETY: such a cell may hold uninitialised bytes: there is nothing to write.
    unsafe { Box::new_uninit_slice(n).assume_init() }
}

#[cfg(loom)]
fn empty_cells<S>(n: usize) -> Box<[UnsafeCell<MaybeUninit<S>>]> {
    (0..n).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect()
}

/// Cells side by side, whose values are dropped with this. Made only by [`Slots::drop_range`].
struct Doomed<'a, S>(&'a [UnsafeCell<MaybeUninit<S>>]);

impl<S> Drop for Doomed<'_, S> {
    #[cfg(not(loom))]
    fn drop(&mut self) {
        let first = self.0.as_ptr().cast::<S>().cast_mut();
        // SAFETY: the contract of `drop_range`: the cells hold values that no other thread uses, and none is dropped
        // again. A cell has the layout of its value, and its inside may be written through a shared reference.
        unsafe { std::ptr::slice_from_raw_parts_mut(first, self.0.len()).drop_in_place() };
    }

    #[cfg(loom)]
    fn drop(&mut self) {
        for cell in self.0 {
            // SAFETY: as above.
            with_mut(cell, |cell| unsafe { (*cell).assume_init_drop() });
        }
    }
}

/// Values that are still to be dropped, also if the drop of one of them panics.
struct Rest<'a, S, N: Iterator<Item = u64>> {
    slots: &'a Slots<S>,
    numbers: N,
}

impl<S, N: Iterator<Item = u64>> Rest<'_, S, N> {
    /// # Safety
    ///
    /// As [`Slots::drop_values`].
    unsafe fn drop_all(&mut self) {
        for n in self.numbers.by_ref() {
            // SAFETY: the caller's contract; the iterator is past this number, so the number does not occur again.
            unsafe { self.slots.drop_value(n) };
        }
    }
}

impl<S, N: Iterator<Item = u64>> Drop for Rest<'_, S, N> {
    fn drop(&mut self) {
        // SAFETY: the contract of the caller of `drop_values` covers the remaining numbers.
        unsafe { self.drop_all() };
    }
}

/// Cells to be written.
pub(crate) struct Cells<'a, S> {
    cells: Cursor<'a, S>,
}

impl<S> Cells<'_, S> {
    /// Moves a value into cell `i`.
    ///
    /// # Safety
    ///
    /// Cell `i` must be inside the storage, must hold no value, and no other thread may use it.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, i: usize, value: S) {
        // SAFETY: the caller's contract: `i` is inside the storage.
        let cell = unsafe { self.cells.at(i) };
        with_mut(cell, |cell| {
            // SAFETY: the caller's contract: no other thread uses the cell.
            unsafe { cell.write(MaybeUninit::new(value)) }
        });
    }
}

/// All cells of a ring, to be written by number.
pub(crate) struct Around<'a, S> {
    cells: Cells<'a, S>,
    /// The capacity less one: the mask of an index.
    last: u64,
}

impl<S> Around<'_, S> {
    /// Moves a value into the cell of number `n`.
    ///
    /// # Safety
    ///
    /// The cell must hold no value, and no other thread may use it.
    #[inline(always)]
    pub(crate) unsafe fn write(&self, n: u64, value: S) {
        // SAFETY: the caller's contract; the capacity is a power of two, so the masked index is less than it.
        unsafe { self.cells.write((n & self.last) as usize, value) };
    }
}

/// Published slots of one ring, side by side.
pub struct SlotSlice<'a, S> {
    cells: Cursor<'a, S>,
    lent: PhantomData<&'a S>,
}

impl<S> Clone for SlotSlice<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for SlotSlice<'_, S> {}

impl<S> fmt::Debug for SlotSlice<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SlotSlice").finish_non_exhaustive()
    }
}

impl<'a, S> SlotSlice<'a, S> {
    /// Slot `i`.
    ///
    /// # Safety
    ///
    /// `i` must be less than the length that this slice was made for.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, i: usize) -> &'a S {
        // SAFETY: the caller's contract: `i` is inside the storage.
        let cell = unsafe { self.cells.at(i) };
        with(cell, |cell| {
            // SAFETY: by the contract of `Slots::slice` no thread writes the cell as long as 'a.
            let value: &'a MaybeUninit<S> = unsafe { &*cell };
            // SAFETY: by the same contract it holds a value.
            unsafe { value.assume_init_ref() }
        })
    }

    /// The same slots, if they are of type `T`.
    pub(crate) fn of_type<T: 'static>(&self) -> Option<SlotSlice<'a, T>>
    where
        S: 'static,
    {
        let same = std::any::TypeId::of::<S>() == std::any::TypeId::of::<T>();
        same.then(|| SlotSlice {
            cells: Cursor { first: self.cells.first.cast(), storage: PhantomData },
            lent: PhantomData,
        })
    }

    /// The address of the first of these slots.
    #[inline(always)]
    pub(crate) fn place(&self) -> BasePtr {
        BasePtr::new(self.cells.first)
    }

    /// The slots that begin at `place`.
    ///
    /// # Safety
    ///
    /// A slice like this one must begin there, made for at least as many slots and as long a lifetime.
    #[inline(always)]
    pub(crate) unsafe fn at_place(place: BasePtr) -> Self {
        SlotSlice { cells: Cursor { first: place.pointer(), storage: PhantomData }, lent: PhantomData }
    }
}

/// A pointer to a cell and those after it. It is a raw pointer, so that the compiler need not load it again in every
/// turn of a loop that writes cells.
#[cfg(not(loom))]
struct Cursor<'a, S> {
    first: *const UnsafeCell<MaybeUninit<S>>,
    storage: PhantomData<&'a UnsafeCell<MaybeUninit<S>>>,
}
#[cfg(loom)]
struct Cursor<'a, S> {
    first: *const UnsafeCell<MaybeUninit<S>>,
    storage: PhantomData<&'a S>,
}

impl<S> Clone for Cursor<'_, S> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}
impl<S> Copy for Cursor<'_, S> {}

impl<'a, S> Cursor<'a, S> {
    #[inline(always)]
    fn new(cells: &[UnsafeCell<MaybeUninit<S>>], index: usize) -> Self {
        Cursor { first: cells[index..].as_ptr(), storage: PhantomData }
    }

    /// # Safety
    ///
    /// `i` cells after the first one must still be inside the storage, which must outlive `'a`.
    #[inline(always)]
    unsafe fn at(&self, i: usize) -> &'a UnsafeCell<MaybeUninit<S>> {
        // SAFETY: the caller's contract: the result is inside the same allocation.
        let cell = unsafe { self.first.add(i) };
        // SAFETY: the storage was borrowed to make this cursor and outlives it; a shared reference to an UnsafeCell
        // asserts nothing about its inside.
        unsafe { &*cell }
    }
}

#[cfg(not(loom))]
#[inline(always)]
fn with<T, R>(cell: &UnsafeCell<T>, f: impl FnOnce(*const T) -> R) -> R {
    f(cell.get())
}
#[cfg(not(loom))]
#[inline(always)]
fn with_mut<T, R>(cell: &UnsafeCell<T>, f: impl FnOnce(*mut T) -> R) -> R {
    f(cell.get())
}
#[cfg(loom)]
fn with<T, R>(cell: &UnsafeCell<T>, f: impl FnOnce(*const T) -> R) -> R {
    cell.with(f)
}
#[cfg(loom)]
fn with_mut<T, R>(cell: &UnsafeCell<T>, f: impl FnOnce(*mut T) -> R) -> R {
    cell.with_mut(f)
}

#[cfg(all(test, not(loom), not(miri)))]
mod tests {
    use super::{LINE, Slots};

    #[test]
    fn the_first_cell_begins_a_cache_line() {
        /// The offset of the first cell from the begin of a line, in rings of several sizes, whose blocks are not
        /// aligned alike.
        fn offset<S>() -> [usize; 8] {
            std::array::from_fn(|i| {
                let slots = Slots::<S>::new(1 << i);
                let cells = slots.cells_in_order();
                assert_eq!((cells.len(), slots.capacity()), (1 << i, 1 << i));
                cells.as_ptr().addr() % LINE
            })
        }
        assert_eq!(offset::<u64>(), [0; 8]);
        assert_eq!(offset::<u8>(), [0; 8]);
        assert_eq!(offset::<[u64; 3]>(), [0; 8]);
        assert_eq!(offset::<(u8, u32)>(), [0; 8]);
        // A cell of a line's size may never begin there; then the cells keep the allocator's offset.
        offset::<[u64; 8]>();
        offset::<()>();
    }
}
