//! Threads that wait for a condition, which the notifiers evaluate.

use super::Condition;
use crate::sync::{AtomicUsize, Condvar, Mutex, MutexGuard, Ordering, fence};
use std::fmt;
use std::sync::PoisonError;

/// Wakes a thread when its condition is met, and not before.
pub(super) struct Conditional {
    waiting: AtomicUsize,
    waiters: Mutex<Waiters>,
    met: Condvar,
}

struct Waiters {
    /// Each with its number. One that was woken is no longer among them.
    list: Vec<(u64, Condition)>,
    next: u64,
}

impl Conditional {
    pub(super) fn new() -> Self {
        let waiters = Waiters { list: Vec::new(), next: 0 };
        Conditional { waiting: AtomicUsize::new(0), waiters: Mutex::new(waiters), met: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Waiters> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Announces a waiter, which must then look once more, and [park](Announced::park) or drop this.
    pub(super) fn announce(&self, condition: &Condition) -> Announced<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let number = {
            let mut waiters = self.lock();
            let number = waiters.next;
            waiters.next += 1;
            waiters.list.push((number, condition.clone()));
            number
        };
        // Orders the announcement before the look that follows; pairs with the fence in `Signal::notify`.
        fence(Ordering::SeqCst);
        Announced { conditional: self, number }
    }

    /// Wakes the threads whose condition is met, or all of them. The caller has ordered its change before this, unless
    /// it may miss a thread that is announcing itself.
    #[inline]
    pub(super) fn notify(&self, order: Ordering, all: bool) {
        if self.waiting.load(order) > 0 {
            self.wake(all);
        }
    }

    #[cold]
    fn wake(&self, all: bool) {
        let mut waiters = self.lock();
        let before = waiters.list.len();
        waiters.list.retain(|(_, condition)| !all && !condition());
        let woken = before - waiters.list.len();
        drop(waiters);
        if woken > 0 {
            self.met.notify_all();
            self.waiting.fetch_sub(woken, Ordering::SeqCst);
        }
    }
}

/// A thread that has announced itself.
pub(super) struct Announced<'a> {
    conditional: &'a Conditional,
    number: u64,
}

impl Announced<'_> {
    /// Parks until a notifier finds the condition met, or wakes all.
    pub(super) fn park(self) {
        let mut waiters = self.conditional.lock();
        while waiters.list.iter().any(|(number, _)| *number == self.number) {
            waiters = self.conditional.met.wait(waiters).unwrap_or_else(PoisonError::into_inner);
        }
        drop(waiters);
        // The notifier has taken it back.
        std::mem::forget(self);
    }
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        let mut waiters = self.conditional.lock();
        if let Some(at) = waiters.list.iter().position(|(number, _)| *number == self.number) {
            waiters.list.swap_remove(at);
            drop(waiters);
            self.conditional.waiting.fetch_sub(1, Ordering::SeqCst);
        }
    }
}

impl fmt::Debug for Conditional {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conditional").field("waiting", &self.waiting).finish_non_exhaustive()
    }
}
