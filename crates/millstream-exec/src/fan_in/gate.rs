use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering, yield_now};
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
    showing: Mutex<()>,
    /// Nothing more is accepted. Written by who has `showing`.
    refusing: AtomicBool,
    /// Nor is anything on its way that was.
    closed: AtomicBool,
}

impl<R> Gate<R> {
    /// Open.
    pub fn new(ring: R) -> Self {
        let [iterating, refusing, closed] = [false; 3].map(AtomicBool::new);
        Gate { ring: Mutex::new(ring), iterating, showing: Mutex::new(()), refusing, closed }
    }

    fn lock(&self) -> MutexGuard<'_, R> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn showing(&self) -> MutexGuard<'_, ()> {
        self.showing.lock().unwrap_or_else(PoisonError::into_inner)
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
        self.iterating.store(true, Ordering::Release);
        let _over = Over(self);
        f(&mut ring)
    }

    /// What is shown while this is kept is accepted; none if nothing is any more.
    pub fn pass(&self) -> Option<MutexGuard<'_, ()>> {
        let showing = self.showing();
        self.iterating.store(false, Ordering::Relaxed);
        (!self.refusing.load(Ordering::Relaxed)).then_some(showing)
    }

    /// From now on nothing is accepted.
    pub fn close(&self) {
        let showing = self.showing();
        self.refusing.store(true, Ordering::Relaxed);
        drop(showing);
        // Who has the ring comes to its end soon, or has still to pass, and will not.
        while self.ring.try_lock().is_err() && !self.iterating.load(Ordering::Acquire) {
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
            drop(self.0.pass());
        }
    }
}
