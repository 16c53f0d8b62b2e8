use crate::shared::LeastFailure;
use crate::{Ending, RunError, Unfinished};
use millstream_core::SequenceNumber;
use millstream_core::failure::message;
use std::any::Any;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// What all threads of a run share.
#[derive(Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    draining: AtomicBool,
    failure: LeastFailure,
    /// The names of the threads that have not ended.
    running: Mutex<Vec<String>>,
    ended: Condvar,
}

impl Control {
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Every stage stops at its next slot.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// The source takes no further values.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
    }

    /// Ends the run because user code of this stage panicked.
    pub(crate) fn fail(&self, stage: &str, number: Option<u64>, payload: &(dyn Any + Send)) {
        let number = number.map(SequenceNumber);
        self.failure.keep(RunError::Stage { stage: stage.to_owned(), number, cause: message(payload) });
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    pub(crate) fn ending(&self) -> Ending {
        match (self.failure().is_some(), self.stopped(), self.draining()) {
            (true, _, _) => Ending::Failed,
            (false, true, _) => Ending::Stopped,
            (false, false, true) => Ending::Drained,
            (false, false, false) => Ending::End,
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<String>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn started(&self, name: &str) {
        self.running().push(name.to_owned());
    }

    pub(crate) fn finished_one(&self, name: &str) {
        let mut running = self.running();
        if let Some(at) = running.iter().position(|running| running == name) {
            running.remove(at);
        }
        drop(running);
        self.ended.notify_all();
    }

    pub(crate) fn finished(&self) -> bool {
        self.running().is_empty()
    }

    /// The stages of which a thread has not ended.
    pub(crate) fn unfinished(&self) -> Vec<Unfinished> {
        let mut names = self.running().clone();
        names.dedup();
        names.into_iter().map(|stage| Unfinished { stage, in_step: None }).collect()
    }

    /// Waits until all threads are done, for so long at most.
    pub(crate) fn wait_until_finished(&self, most: Duration) {
        let deadline = Instant::now().checked_add(most);
        let mut running = self.running();
        while !running.is_empty() {
            let left = deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return;
            }
            running = self.ended.wait_timeout(running, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// Where one thread notes what it is doing.
pub(crate) struct Desk {
    control: Arc<Control>,
    number: Cell<Option<u64>>,
    moved: Cell<u64>,
}

impl Desk {
    pub(crate) fn new(control: Arc<Control>) -> Self {
        Desk { control, number: Cell::new(None), moved: Cell::new(0) }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.control.stopped.load(Ordering::Relaxed)
    }

    /// From now on this number is worked on, and what was before it is done.
    pub(crate) fn works_on(&self, number: u64) {
        if self.number.get() != Some(number) {
            self.rests();
            self.number.set(Some(number));
        }
    }

    /// What was worked on is done.
    pub(crate) fn rests(&self) {
        if self.number.take().is_some() {
            self.moved.set(self.moved.get() + 1);
        }
    }

    /// The number that is worked on.
    pub(crate) fn number(&self) -> Option<u64> {
        self.number.get()
    }

    /// How many numbers are done.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.get()
    }
}
