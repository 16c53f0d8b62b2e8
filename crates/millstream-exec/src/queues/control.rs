use crate::handle::ExternalSource;
use crate::pause::pause;
use crate::shared::{FailedAt, FirstFailure, Payload};
use crate::{RunError, RunOutcome, Signal, Unfinished};
use millstream_core::SequenceNumber;
use millstream_core::failure::into_message;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::{Duration, Instant};

/// What all threads of a run share.
#[derive(Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    draining: AtomicBool,
    /// Nobody wants what so many do: the source, and then the first threads.
    cancelled: AtomicUsize,
    /// Wakes stages that pause, when nobody wants them to go on.
    unwanted: Signal,
    /// A source that waits, whose stream ends with the run.
    source: OnceLock<Weak<dyn ExternalSource>>,
    /// It was stopped because draining it took too long.
    overdue: AtomicBool,
    /// END is among what the source has put into its queue.
    source_ended: AtomicBool,
    failure: FirstFailure,
    /// The names of the threads that have not ended.
    running: Mutex<Vec<String>>,
    ended: Condvar,
}

impl Control {
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Every stage stops at its next slot, also where it waits for a source that says nothing.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
        self.unwanted.notify();
        self.end_source();
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::SeqCst)
    }

    /// The source takes no further values.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::SeqCst);
        self.end_source();
    }

    /// Nobody wants any more what these first threads do, nor the source's values. The run goes on.
    pub(crate) fn cancel(&self, threads: usize) {
        self.cancelled.fetch_max(threads + 1, Ordering::SeqCst);
        self.unwanted.notify();
        self.end_source();
    }

    /// Whether nobody wants what this thread does.
    pub(crate) fn cancelled(&self, thread: usize) -> bool {
        thread + 1 < self.cancelled.load(Ordering::SeqCst)
    }

    /// Whether the source gives further values.
    pub(crate) fn takes(&self) -> bool {
        !self.draining() && !self.stopped() && self.cancelled.load(Ordering::SeqCst) == 0
    }

    /// The source that ends with the run.
    pub(crate) fn ends(&self, source: Weak<dyn ExternalSource>) {
        // There is one.
        let _ = self.source.set(source);
    }

    fn end_source(&self) {
        if let Some(source) = self.source.get().and_then(Weak::upgrade) {
            source.end();
        }
    }

    /// Every stage stops, since draining took too long.
    pub(crate) fn stop_overdue(&self) {
        self.overdue.store(true, Ordering::SeqCst);
        self.stop();
    }

    pub(crate) fn overdue(&self) -> bool {
        self.overdue.load(Ordering::SeqCst)
    }

    /// The source has put END into its queue.
    pub(crate) fn note_end(&self) {
        self.source_ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn source_has_ended(&self) -> bool {
        self.source_ended.load(Ordering::SeqCst)
    }

    /// Ends the run because user code of this stage panicked.
    pub(crate) fn fail(&self, at: FailedAt, stage: &str, number: Option<u64>, payload: Payload) {
        let (stage, number) = (stage.to_owned(), number.map(SequenceNumber));
        self.failure.keep(at, RunError::Stage { stage, number, cause: into_message(payload) });
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    /// How the run ended; of one that was drained, whether in time.
    pub(crate) fn outcome(&self, in_time: bool) -> RunOutcome {
        let stopped = self.stopped() && !(self.overdue() && in_time);
        match (self.failure().is_some(), stopped, self.draining()) {
            (true, _, _) => RunOutcome::Failed,
            (false, true, _) => RunOutcome::Stopped,
            (false, false, true) => RunOutcome::Drained,
            (false, false, false) => RunOutcome::End,
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

    /// Waits until all threads are done, for so long at most; false if some are not.
    pub(crate) fn wait_until_finished(&self, most: Duration) -> bool {
        let deadline = Instant::now().checked_add(most);
        let mut running = self.running();
        while !running.is_empty() {
            let left = deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            running = self.ended.wait_timeout(running, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

/// What the threads of one stage that pauses go by.
#[derive(Clone)]
pub(crate) struct Pauses {
    pub(crate) control: Arc<Control>,
    pub(crate) thread: usize,
    /// Whether it stands in a `tee`.
    pub(crate) side_output: bool,
}

impl Pauses {
    /// Waits so long, or unwinds once nobody wants the stage to go on.
    pub(crate) fn wait(&self, time: Duration) {
        let Pauses { control, thread, side_output } = self;
        pause(&control.unwanted, time, || control.stopped() || !side_output && control.cancelled(*thread));
    }
}

/// Where one thread notes what it is doing.
pub(crate) struct Activity {
    control: Arc<Control>,
    /// Which thread of the run this is; none if it stands in a `tee`, and finishes what there is to do also where nobody wants
    /// what the others do.
    thread: Option<usize>,
    number: Cell<Option<u64>>,
    moved: Cell<u64>,
}

impl Activity {
    pub(crate) fn new(control: Arc<Control>, thread: Option<usize>) -> Self {
        Activity { control, thread, number: Cell::new(None), moved: Cell::new(0) }
    }

    /// Whether the thread does nothing more.
    pub(crate) fn stopped(&self) -> bool {
        self.control.stopped.load(Ordering::Relaxed) || self.cancelled()
    }

    /// Whether nobody wants what the thread does.
    pub(crate) fn cancelled(&self) -> bool {
        self.thread.is_some_and(|thread| self.control.cancelled(thread))
    }

    /// Nobody wants any more what the threads before this one do.
    pub(crate) fn cancel_before(&self) {
        self.control.cancel(self.thread.unwrap_or(0));
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
