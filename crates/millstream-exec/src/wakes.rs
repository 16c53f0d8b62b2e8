//! Which futures of a stage have been woken.

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};

/// Collects the wakers' calls until somebody polls, and tells him.
pub struct Wakes {
    woken: Mutex<Woken>,
    tell: Box<dyn Fn() + Send + Sync>,
}

struct Woken {
    indices: Vec<usize>,
    /// Somebody polls, and will look once more: he need not be told.
    attended: bool,
}

/// The waker of one future.
struct WakeUp {
    index: usize,
    /// In the list: it need not be there twice.
    listed: AtomicBool,
    wakes: Arc<Wakes>,
}

/// A future's entry in a [`Wakes`], and its waker.
#[derive(Clone)]
pub struct Wakeable {
    wake_up: Arc<WakeUp>,
    waker: Waker,
}

impl Wakes {
    /// `tell` is called after wake-ups that nobody attends to.
    #[must_use]
    pub fn new(tell: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Wakes { woken: Mutex::new(Woken { indices: Vec::new(), attended: false }), tell: Box::new(tell) })
    }

    fn lock(&self) -> MutexGuard<'_, Woken> {
        self.woken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entry of the future at `index`.
    #[must_use]
    pub fn wakeable(self: &Arc<Self>, index: usize) -> Wakeable {
        let wake_up = Arc::new(WakeUp { index, listed: AtomicBool::new(false), wakes: self.clone() });
        Wakeable { waker: Waker::from(wake_up.clone()), wake_up }
    }

    /// Fills an empty list with those who were woken. Until [`leave`](Wakes::leave), nobody is told of others.
    pub fn attend(&self, indices: &mut Vec<usize>) {
        let mut woken = self.lock();
        woken.attended = true;
        std::mem::swap(indices, &mut woken.indices);
    }

    /// From now on `tell` is called; whether nobody was woken meanwhile.
    #[must_use]
    pub fn leave(&self) -> bool {
        let mut woken = self.lock();
        woken.attended = false;
        woken.indices.is_empty()
    }
}

impl Wakeable {
    /// The future's waker.
    #[must_use]
    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    /// It was taken from the list and is polled now: what wakes it from now on is news.
    pub fn polled(&self) {
        // Acquires what was done before a wake-up that came too late to be listed once more.
        self.wake_up.listed.swap(false, Ordering::AcqRel);
    }
}

impl Wake for WakeUp {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if !self.listed.swap(true, Ordering::AcqRel) {
            let mut woken = self.wakes.lock();
            woken.indices.push(self.index);
            let attended = woken.attended;
            drop(woken);
            if !attended {
                (self.wakes.tell)();
            }
        }
    }
}

impl std::fmt::Debug for Wakes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wakes").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Wakeable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Wakeable").field("index", &self.wake_up.index).finish_non_exhaustive()
    }
}
