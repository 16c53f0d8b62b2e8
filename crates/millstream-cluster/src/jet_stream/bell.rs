//! A bell for threads that wait for an entry or an answer.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Wake;
use std::time::Duration;

/// A bell that rings when an entry or an answer has come.
#[derive(Debug, Default)]
pub(super) struct Bell {
    heard: Mutex<Heard>,
    rings: Condvar,
}

#[derive(Debug, Default)]
struct Heard {
    /// Whether it has rung since the last wait.
    rung: bool,
    /// How many threads wait: a condition variable asks the system to wake threads even if there are none.
    waiting: usize,
}

impl Bell {
    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn ring(&self) {
        let mut heard = self.heard();
        let wakes = heard.waiting > 0 && !heard.rung;
        heard.rung = true;
        drop(heard);
        if wakes {
            self.rings.notify_all();
        }
    }

    /// Waits until it has rung since the last wait.
    pub(super) fn wait(&self, most: Duration) {
        let mut heard = self.heard();
        heard.waiting += 1;
        let waited = self.rings.wait_timeout_while(heard, most, |heard| !heard.rung);
        let mut heard = waited.unwrap_or_else(PoisonError::into_inner).0;
        heard.waiting -= 1;
        heard.rung = false;
    }
}

/// An answer that a future waits for rings it.
impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.ring();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.ring();
    }
}
