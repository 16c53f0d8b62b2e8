use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::{PoisonError, TryLockError};

/// A producer's ring, and whether it accepts values.
///
/// An iterator that produces values is user code: it may block or panic, so no thread waits for it. Closing does not
/// wait for it; its values become visible only if they [`pass`](Gate::pass) after they are written. Meanwhile other
/// users of the ring find it taken. Everything else is written under the lock alone, which is held for a moment.
#[derive(Debug)]
pub struct Gate<R> {
    ring: Mutex<R>,
    /// Whether the holder of the ring is running an iterator, and must pass before its values become visible.
    iterating: AtomicBool,
    /// Whether further values are refused.
    refusing: AtomicBool,
    /// Whether no accepted value is still being written. The merge reads this whenever the ring is empty. It has its
    /// own cache line because every batch writes the flags above.
    closed: CachePadded<AtomicBool>,
}

/// The result of [`show`](Gate::show).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<O> {
    /// The call was made.
    Did(O),
    /// An iterator holds the ring.
    Taken,
    /// No value is accepted.
    Closed,
}

impl<R> Gate<R> {
    /// An open gate.
    pub fn new(ring: R) -> Self {
        let [iterating, refusing, closed] = [false; 3].map(AtomicBool::new);
        Gate { ring: Mutex::new(ring), iterating, refusing, closed: CachePadded::new(closed) }
    }

    /// Locks the ring, unless an iterator holds it. Any other holder releases it in a moment.
    fn reach(&self) -> Option<MutexGuard<'_, R>> {
        loop {
            match self.ring.try_lock() {
                Ok(ring) => return Some(ring),
                // An iterator has panicked, between two values.
                Err(TryLockError::Poisoned(ring)) => return Some(ring.into_inner()),
                Err(TryLockError::WouldBlock) if self.iterating.load(Ordering::Relaxed) => return None,
                Err(TryLockError::WouldBlock) => yield_now(),
            }
        }
    }

    /// Calls `f` with the ring: for its last user, or if no iterator ever holds it.
    pub fn with<O>(&self, f: impl FnOnce(&mut R) -> O) -> O {
        f(&mut self.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Calls `f` with the ring, unless an iterator holds it.
    pub fn try_with<O>(&self, f: impl FnOnce(&mut R) -> O) -> Option<O> {
        self.reach().map(|mut ring| f(&mut ring))
    }

    /// Calls `f` to publish existing values, unless no value is accepted or an iterator holds the ring.
    pub fn show<O>(&self, f: impl FnOnce(&mut R) -> O) -> Shown<O> {
        let Some(mut ring) = self.reach() else { return Shown::Taken };
        // The thread that closed the gate has held the lock since, or a thread that failed to pass has.
        if self.refusing.load(Ordering::Relaxed) { Shown::Closed } else { Shown::Did(f(&mut ring)) }
    }

    /// Calls `f` with an iterator, which may block; its values must [`pass`](Gate::pass). None if another iterator
    /// holds the ring.
    pub fn iterate<O>(&self, f: impl FnOnce(&mut R) -> O) -> Option<O> {
        let mut ring = self.reach()?;
        // A closing thread that sees this has acquired everything published before.
        self.iterating.store(true, Ordering::Release);
        let _over = Over(self);
        Some(f(&mut ring))
    }

    /// Whether an iterator's values may become visible, before [`iterate`](Gate::iterate) returns. Closing waits for
    /// it.
    pub fn pass(&self) -> bool {
        // Either this swap comes after the closing thread's check and acquires the refusal, or the closing thread sees
        // it and waits for the lock.
        self.iterating.swap(false, Ordering::Acquire);
        let accepted = !self.refusing.load(Ordering::Relaxed);
        if !accepted {
            // Nothing becomes visible from here on. The iterator's values may be dropped before the ring is released;
            // that is user code too, and closing must not wait for it.
            self.iterating.swap(true, Ordering::AcqRel);
        }
        accepted
    }

    /// Refuses all further values.
    pub fn close(&self) {
        self.refusing.store(true, Ordering::Relaxed);
        // The holder of the ring either finishes soon, or still has to pass and will fail to. The check is a write, so
        // that a later pass acquires it.
        while self.is_taken() && !self.iterating.fetch_or(false, Ordering::AcqRel) {
            yield_now();
        }
        self.closed.store(true, Ordering::Release);
    }

    /// Whether the ring is held. After an iterator's panic the lock is poisoned and free.
    fn is_taken(&self) -> bool {
        matches!(self.ring.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether it is closed. A thread that sees this sees every accepted value.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// Marks the end of an iterator, also if it has panicked.
struct Over<'g, R>(&'g Gate<R>);

impl<R> Drop for Over<'_, R> {
    fn drop(&mut self) {
        if self.0.iterating.load(Ordering::Relaxed) {
            // As in `pass`: acquires a close that happened meanwhile, for the next holders of the ring.
            self.0.iterating.swap(false, Ordering::Acquire);
        }
    }
}
