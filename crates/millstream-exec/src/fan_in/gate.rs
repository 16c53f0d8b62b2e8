use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, yield_now};
use crossbeam_utils::CachePadded;
use std::sync::PoisonError;

/// A producer's ring, and whether what goes into it is still accepted.
///
/// Who closes it does not wait for an iterator that gives values, since that is the user's. So what an iterator gave is let
/// through once it is written ([`pass`](Gate::pass)); what needs no iterator is written under the lock alone.
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

impl<R> Gate<R> {
    /// Open.
    pub fn new(ring: R) -> Self {
        let [iterating, refusing, closed] = [false; 3].map(AtomicBool::new);
        Gate { ring: Mutex::new(ring), iterating, refusing, closed: CachePadded::new(closed) }
    }

    fn lock(&self) -> MutexGuard<'_, R> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the ring.
    pub fn with<O>(&self, f: impl FnOnce(&mut R) -> O) -> O {
        f(&mut self.lock())
    }

    /// Shows something that is there already, unless nothing is accepted.
    pub fn show<O>(&self, f: impl FnOnce(&mut R) -> O) -> Option<O> {
        let mut ring = self.lock();
        // Whoever has closed it has had the lock since, or one who has passed in vain has.
        (!self.refusing.load(Ordering::Relaxed)).then(|| f(&mut ring))
    }

    /// Has an iterator called, which may wait for anything; what it gave must [`pass`](Gate::pass).
    pub fn iterate<O>(&self, f: impl FnOnce(&mut R) -> O) -> O {
        let mut ring = self.lock();
        // Whoever sees it and closes has acquired what was shown before.
        self.iterating.store(true, Ordering::Release);
        let _over = Over(self);
        f(&mut ring)
    }

    /// Whether what an iterator gave may show, before [`iterate`](Gate::iterate) returns. Who closes waits for that.
    pub fn pass(&self) -> bool {
        // Either this comes behind the look of one who closes, and acquires that nothing is accepted any more; or he sees
        // it, and waits for the lock.
        self.iterating.swap(false, Ordering::Acquire);
        !self.refusing.load(Ordering::Relaxed)
    }

    /// From now on nothing is accepted.
    pub fn close(&self) {
        self.refusing.store(true, Ordering::Relaxed);
        // Who has the ring comes to its end soon, or has still to pass, and will not. The look is a write, so that whoever
        // passes behind it acquires it.
        while self.ring.try_lock().is_err() && !self.iterating.fetch_or(false, Ordering::AcqRel) {
            yield_now();
        }
        self.closed.store(true, Ordering::Release);
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
            self.0.pass();
        }
    }
}
