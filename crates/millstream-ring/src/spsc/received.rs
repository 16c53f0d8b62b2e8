use crate::gate::Counter;
use crate::slots::{SlotSlice, Slots};
use crate::sync::Ordering;
use crate::vectorised::{Loop, vectorised};
use std::mem::ManuallyDrop;
use std::ops::Range;

/// Values on their way out of a ring, in order. Values that are not taken from it stay in the ring; the slots of the
/// others are free when this is dropped.
#[must_use = "values that are not taken out stay in the ring"]
pub struct Received<'t, T> {
    slice: SlotSlice<'t, ManuallyDrop<T>>,
    first: u64,
    next: usize,
    len: usize,
    /// The receiver's position: beyond all of these values while this exists, so that none is taken twice if this is
    /// forgotten.
    position: &'t mut u64,
    taken: &'t Counter,
}

impl<'t, T> Received<'t, T> {
    /// The `len` values from number `position` on.
    ///
    /// # Safety
    ///
    /// They must be contiguous, and no other thread may use them until `taken` is beyond them.
    #[inline(always)]
    pub(crate) unsafe fn new(
        slots: &'t Slots<ManuallyDrop<T>>,
        position: &'t mut u64,
        taken: &'t Counter,
        len: u64,
    ) -> Self {
        let first = *position;
        *position = first + len;
        // SAFETY: the caller's contract: they hold values that no thread writes.
        let slice = unsafe { slots.slice(first) };
        Received { slice, first, next: 0, len: len as usize, position, taken }
    }
}

impl<T> Received<'_, T> {
    /// Calls `f` with `state` and each of the values, as a loop over the iterator does. But the compiler knows that
    /// `state` is not a slot, so it can process several values at a time.
    #[inline]
    pub fn each<S: ?Sized>(mut self, state: &mut S, f: impl FnMut(&mut S, usize, T)) {
        vectorised(state, Each { taken: &mut self, f });
    }
}

struct Each<'e, 't, T, F> {
    taken: &'e mut Received<'t, T>,
    f: F,
}

impl<S: ?Sized, T, F: FnMut(&mut S, usize, T)> Loop<S> for Each<'_, '_, T, F> {
    type Output = ();

    #[inline(always)]
    fn run(mut self, state: &mut S) {
        let Received { slice, next, len, .. } = self.taken;
        let (first, left) = (*next, *len - *next);
        let mut count = Count { n: 0, next };
        for i in 0..left {
            // SAFETY: less than the length that this was made for.
            let value: &ManuallyDrop<T> = unsafe { slice.get(first + i) };
            // Counted first, so that it is moved out once.
            count.n = i + 1;
            // SAFETY: as in `next`.
            (self.f)(state, i, ManuallyDrop::into_inner(unsafe { std::ptr::read(value) }));
        }
    }
}

/// Counts the taken values, also if the function panics.
struct Count<'a> {
    n: usize,
    next: &'a mut usize,
}

impl Drop for Count<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.next += self.n;
    }
}

impl<T> Iterator for Received<'_, T> {
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        if self.next == self.len {
            return None;
        }
        // SAFETY: less than the length that this was made for.
        let value: &ManuallyDrop<T> = unsafe { self.slice.get(self.next) };
        // Counted first, so that it is moved out once.
        self.next += 1;
        // SAFETY: by the contract of `new` no other thread uses the value, and it is not looked at again: the position
        // is beyond it.
        Some(ManuallyDrop::into_inner(unsafe { std::ptr::read(value) }))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len - self.next, Some(self.len - self.next))
    }
}

impl<T> ExactSizeIterator for Received<'_, T> {}

impl<T> Drop for Received<'_, T> {
    #[inline]
    fn drop(&mut self) {
        *self.position = self.first + self.next as u64;
        if self.next > 0 {
            self.taken.store(*self.position, Ordering::Release);
        }
    }
}

impl<T> std::fmt::Debug for Received<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Received").field("next", &self.next).field("len", &self.len).finish_non_exhaustive()
    }
}

/// Values to drop that were not taken. If a drop panics, the remaining ones are dropped as well.
pub(crate) struct Moved<'a, T> {
    slots: &'a Slots<ManuallyDrop<T>>,
    numbers: Range<u64>,
}

impl<'a, T> Moved<'a, T> {
    pub(crate) fn new(slots: &'a Slots<ManuallyDrop<T>>, numbers: Range<u64>) -> Self {
        Moved { slots, numbers }
    }

    /// # Safety
    ///
    /// Each of the numbers must hold a value that no other thread uses.
    pub(crate) unsafe fn drop_all(mut self) {
        // SAFETY: the caller's contract.
        unsafe { self.drop_rest() };
    }

    /// # Safety
    ///
    /// As [`drop_all`](Moved::drop_all).
    unsafe fn drop_rest(&mut self) {
        if std::mem::needs_drop::<T>() {
            for n in self.numbers.by_ref() {
                // SAFETY: the caller's contract: number `n` holds a value that no thread writes.
                let slice = unsafe { self.slots.slice(n) };
                // SAFETY: the slice was made for one slot.
                let value: &ManuallyDrop<T> = unsafe { slice.get(0) };
                // SAFETY: no other thread uses the value, and the iterator is past it, so it is not read again.
                drop(ManuallyDrop::into_inner(unsafe { std::ptr::read(value) }));
            }
        }
    }
}

impl<T> Drop for Moved<'_, T> {
    fn drop(&mut self) {
        // SAFETY: the contract of the caller of `drop_all` covers the numbers that remain after a panic.
        unsafe { self.drop_rest() };
    }
}
