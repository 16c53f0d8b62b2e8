//! States in local variables while a loop changes them.

use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::{Deref, DerefMut};

/// A value that was moved out of its place, and is moved back when this is dropped. The compiler keeps a local variable
/// in registers, where a loop that can end before its first store would store to memory at every turn.
pub(super) struct InHand<'h, T> {
    value: ManuallyDrop<T>,
    home: &'h mut MaybeUninit<T>,
}

impl<'h, T> InHand<'h, T> {
    #[inline(always)]
    pub(super) fn new(home: &'h mut T) -> Self {
        // SAFETY: both types have one layout. Nothing but this value reaches the place as long as it is borrowed, and
        // `drop`, which also a panic runs, moves the value back into it.
        let home = unsafe { &mut *std::ptr::from_mut(home).cast::<MaybeUninit<T>>() };
        // SAFETY: it holds a value, which is used by its new place alone from now on.
        let value = ManuallyDrop::new(unsafe { home.assume_init_read() });
        InHand { value, home }
    }
}

impl<T> Deref for InHand<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for InHand<'_, T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for InHand<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: it is not used again.
        self.home.write(unsafe { ManuallyDrop::take(&mut self.value) });
    }
}
