use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The endless sources of a run, which a signal ends, or an output that cannot be written.
#[derive(Clone, Default)]
pub(in super::super) struct Endless(Arc<Mutex<Ends>>);

#[derive(Default)]
struct Ends {
    stopped: bool,
    lost: bool,
    all: Vec<Stopping>,
    if_lost: Vec<Stopping>,
}

/// Ends a source, and returns at once.
type Stopping = Box<dyn Fn() + Send>;

impl Endless {
    fn lock(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in super::super) fn add(&self, stop: impl Fn() + Send + 'static) {
        let mut ends = self.lock();
        if ends.stopped {
            stop();
        }
        ends.all.push(Box::new(stop));
    }

    /// Calls this as well if they are stopped since the output is lost.
    #[cfg(feature = "serve")]
    pub(super) fn add_if_lost(&self, stop: impl Fn() + Send + 'static) {
        let mut ends = self.lock();
        if ends.stopped && ends.lost {
            stop();
        }
        ends.if_lost.push(Box::new(stop));
    }

    pub(in super::super) fn stop(&self) {
        let mut ends = self.lock();
        ends.stopped = true;
        ends.all.iter().for_each(|stop| stop());
        if ends.lost {
            ends.if_lost.iter().for_each(|stop| stop());
        }
    }

    /// The output is lost: when they are stopped, nothing more is to be taken, or read.
    pub(in super::super) fn lose(&self) {
        self.lock().lost = true;
    }

    pub(super) fn stopped(&self) -> bool {
        self.lock().stopped
    }

    pub(super) fn lost(&self) -> bool {
        self.lock().lost
    }
}
