//! The woken futures of a stage.

use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};
use std::sync::{Arc, PoisonError};
use std::task::{Wake, Waker};

/// Collects the futures that were woken until the stage takes them, and notifies the stage.
pub struct Wakes {
    woken: Mutex<Woken>,
    notify: Box<dyn Fn() + Send + Sync>,
}

struct Woken {
    indices: Vec<usize>,
    /// The list is being polled and will be looked at once more: no notification is needed.
    attended: bool,
}

/// The waker of one future.
struct WakeUp {
    index: usize,
    /// Already in the list: it is not added twice.
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
    /// `notify` is called after every wake-up outside of [`attend`](Wakes::attend) and [`leave`](Wakes::leave).
    #[must_use]
    pub fn new(notify: impl Fn() + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Wakes { woken: Mutex::new(Woken { indices: Vec::new(), attended: false }), notify: Box::new(notify) })
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

    /// Fills an empty list with the indices of the woken futures. Until [`leave`](Wakes::leave), wake-ups do not
    /// notify.
    pub fn attend(&self, indices: &mut Vec<usize>) {
        let mut woken = self.lock();
        woken.attended = true;
        std::mem::swap(indices, &mut woken.indices);
    }

    /// Wake-ups notify again from now on. Returns whether no future was woken meanwhile.
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

    /// Marks the future as polled, after it was taken from the list: a later wake-up lists it again.
    pub fn polled(&self) {
        // Acquires the writes before a wake-up that found the future already listed.
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
                (self.wakes.notify)();
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
