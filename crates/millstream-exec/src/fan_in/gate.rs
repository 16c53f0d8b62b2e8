use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::{PoisonError, TryLockError};

/// A producer's ring, and whether what goes into it is still accepted.
///
/// An iterator that gives values is the user's: it may block, and it may panic. So only it is waited for by nobody.
/// Closing goes past it, and what it gave is let through once it is written ([`pass`](Gate::pass)); others who want the
/// ring are told that it is taken. What needs no iterator is written under the lock alone, which is held for a moment.
#[derive(Debug)]
pub struct Gate<R> {
    ring: Mutex<R>,
    /// Who has the ring has an iterator called, and passes before anything shows.
    iterating: AtomicBool,
    /// Nothing more is accepted.
    refusing: AtomicBool,
    /// Nor is anything on its way that was. Whoever merges looks at it whenever the ring is empty, and must not take the line
    /// away that every batch writes.
    closed: CachePadded<AtomicBool>,
}

/// What came of [`show`](Gate::show).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown<O> {
    /// It was done.
    Did(O),
    /// An iterator has the ring.
    Taken,
    /// Nothing is accepted.
    Closed,
}

impl<R> Gate<R> {
    /// Open.
    pub fn new(ring: R) -> Self {
        let [iterating, refusing, closed] = [false; 3].map(AtomicBool::new);
        Gate { ring: Mutex::new(ring), iterating, refusing, closed: CachePadded::new(closed) }
    }

    /// The ring, unless an iterator has it: everybody else gives it back in a moment.
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

    /// Does something with the ring, for the last one who has it, or where no iterator ever does.
    pub fn with<O>(&self, f: impl FnOnce(&mut R) -> O) -> O {
        f(&mut self.ring.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does something with the ring, unless an iterator has it.
    pub fn try_with<O>(&self, f: impl FnOnce(&mut R) -> O) -> Option<O> {
        self.reach().map(|mut ring| f(&mut ring))
    }

    /// Shows something that is there already, unless nothing is accepted or an iterator has the ring.
    pub fn show<O>(&self, f: impl FnOnce(&mut R) -> O) -> Shown<O> {
        let Some(mut ring) = self.reach() else { return Shown::Taken };
        // Whoever has closed it has had the lock since, or one who has passed in vain has.
        if self.refusing.load(Ordering::Relaxed) { Shown::Closed } else { Shown::Did(f(&mut ring)) }
    }

    /// Has an iterator called, which may wait for anything; what it gave must [`pass`](Gate::pass). None if another one
    /// has the ring.
    pub fn iterate<O>(&self, f: impl FnOnce(&mut R) -> O) -> Option<O> {
        let mut ring = self.reach()?;
        // Whoever sees it and closes has acquired what was shown before.
        self.iterating.store(true, Ordering::Release);
        let _over = Over(self);
        Some(f(&mut ring))
    }

    /// Whether what an iterator gave may show, before [`iterate`](Gate::iterate) returns. Who closes waits for that.
    pub fn pass(&self) -> bool {
        // Either this comes behind the look of one who closes, and acquires that nothing is accepted any more; or he sees
        // it, and waits for the lock.
        self.iterating.swap(false, Ordering::Acquire);
        let accepted = !self.refusing.load(Ordering::Relaxed);
        if !accepted {
            // Nothing shows any more, and what the iterator gave may be dropped before the ring is free, which is the
            // user's code too: nobody waits for that.
            self.iterating.swap(true, Ordering::AcqRel);
        }
        accepted
    }

    /// From now on nothing is accepted.
    pub fn close(&self) {
        self.refusing.store(true, Ordering::Relaxed);
        // Who has the ring comes to its end soon, or has still to pass, and will not. The look is a write, so that whoever
        // passes behind it acquires it.
        while self.is_taken() && !self.iterating.fetch_or(false, Ordering::AcqRel) {
            yield_now();
        }
        self.closed.store(true, Ordering::Release);
    }

    /// Whether somebody has the ring. Where an iterator has panicked the lock is poisoned, and free.
    fn is_taken(&self) -> bool {
        matches!(self.ring.try_lock(), Err(TryLockError::WouldBlock))
    }

    /// Whether it is closed. Who sees that sees everything that was accepted.
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }
}

/// An iterator is called no more, also where it has panicked.
struct Over<'g, R>(&'g Gate<R>);

impl<R> Drop for Over<'_, R> {
    fn drop(&mut self) {
        if self.0.iterating.load(Ordering::Relaxed) {
            // As in `pass`: whoever has closed it meanwhile is acquired, for those who have the ring next.
            self.0.iterating.swap(false, Ordering::Acquire);
        }
    }
}
