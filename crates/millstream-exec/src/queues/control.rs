use crate::external_source::ExternalSource;
use crate::pause::{GivenUp, pause};
use crate::shared::{FailedAt, FirstFailure, Payload};
use crate::{RunError, RunOutcome, Signal, Unfinished, WakerSlot};
use millstream_core::blocking::block_on;
use millstream_core::failure::{Finished, caught};
use std::cell::Cell;
use std::future::poll_fn;
use std::panic::resume_unwind;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::task::Poll;
use std::time::{Duration, Instant};

thread_local! {
    /// The address of the state of the run whose thread this is; 0 for none.
    static THREAD_OF: Cell<usize> = const { Cell::new(0) };
}

/// The state that all threads of a run share.
#[derive(Default)]
pub(crate) struct Control {
    stopped: AtomicBool,
    draining: AtomicBool,
    /// How many are cancelled because their output is no longer wanted: the source, and then the first threads.
    cancelled: AtomicUsize,
    /// Wakes stages that pause when their result is no longer wanted.
    unwanted: Signal,
    /// A source that waits; its stream ends with the run.
    source: OnceLock<Weak<dyn ExternalSource>>,
    /// The run was stopped because draining it took too long.
    overdue: AtomicBool,
    /// The source has put END into its queue.
    source_ended: AtomicBool,
    failure: FirstFailure,
    /// The stages of the threads that have not ended; none for one that only joins stages.
    running: Mutex<Vec<Option<String>>>,
    ended: Condvar,
}

impl Control {
    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::SeqCst)
    }

    /// Stops every stage at its next slot, even if it waits for a silent source.
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
        if let Some(source) = self.source() {
            source.drain();
        }
    }

    /// Cancels the source and the first `threads` threads: their output is no longer wanted. The run goes on.
    pub(crate) fn cancel(&self, threads: usize) {
        self.cancelled.fetch_max(threads + 1, Ordering::SeqCst);
        self.unwanted.notify();
        self.end_source();
    }

    /// Whether this thread's output is no longer wanted.
    pub(crate) fn cancelled(&self, thread: usize) -> bool {
        thread + 1 < self.cancelled.load(Ordering::SeqCst)
    }

    /// Whether the source's values are still wanted.
    pub(crate) fn wants(&self) -> bool {
        !self.stopped() && self.cancelled.load(Ordering::SeqCst) == 0
    }

    /// Registers the source that ends with the run.
    pub(crate) fn ends(&self, source: Weak<dyn ExternalSource>) {
        // There is only one.
        let _ = self.source.set(source);
    }

    fn source(&self) -> Option<Arc<dyn ExternalSource>> {
        self.source.get().and_then(Weak::upgrade)
    }

    fn end_source(&self) {
        if let Some(source) = self.source() {
            source.end();
        }
    }

    /// Stops every stage, because draining took too long.
    pub(crate) fn stop_overdue(&self) {
        self.overdue.store(true, Ordering::SeqCst);
        self.stop();
    }

    pub(crate) fn overdue(&self) -> bool {
        self.overdue.load(Ordering::SeqCst)
    }

    /// Records that the source has put END into its queue.
    pub(crate) fn note_end(&self) {
        self.source_ended.store(true, Ordering::SeqCst);
    }

    pub(crate) fn source_has_ended(&self) -> bool {
        self.source_ended.load(Ordering::SeqCst)
    }

    /// Ends the run because user code of this stage panicked.
    pub(crate) fn fail(&self, at: FailedAt, stage: &str, number: Option<u64>, payload: Payload) {
        self.failure.keep(at, RunError::unwound_with(stage, number, payload));
        self.stop();
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    /// The outcome of the run; `in_time` says whether a drained run finished in time.
    pub(crate) fn outcome(&self, in_time: bool) -> RunOutcome {
        let stopped = self.stopped() && !(self.overdue() && in_time);
        match (self.failure().is_some(), stopped, self.draining()) {
            (true, _, _) => RunOutcome::Failed,
            (false, true, _) => RunOutcome::Stopped,
            (false, false, true) => RunOutcome::Drained,
            (false, false, false) => RunOutcome::End,
        }
    }

    fn running(&self) -> MutexGuard<'_, Vec<Option<String>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn started(&self, stage: Option<String>) {
        self.running().push(stage);
    }

    /// Notes that the calling thread is one of the run's. It keeps this state alive.
    pub(crate) fn starts_here(&self) {
        THREAD_OF.set(std::ptr::from_ref(self).addr());
    }

    /// Panics in a closure of the run: its end waits for the closure, also if the run was stopped, because the threads
    /// before and after that stage do. The same in a source that the run waits for.
    pub(crate) fn assert_outside(&self) {
        let in_source = self.source().is_some_and(|source| source.is_here()) && !self.draining() && !self.stopped();
        assert!(
            !(in_source || self.is_here()),
            "a closure of a run waits for the end of that run, which waits for the closure"
        );
    }

    /// Whether the calling thread is one of the run's. That of a source that waits is none: it is not joined.
    pub(crate) fn is_here(&self) -> bool {
        THREAD_OF.get() == std::ptr::from_ref(self).addr()
    }

    pub(crate) fn finished_one(&self, stage: Option<&str>) {
        let mut running = self.running();
        if let Some(at) = running.iter().position(|running| running.as_deref() == stage) {
            running.remove(at);
        }
        drop(running);
        self.ended.notify_all();
    }

    pub(crate) fn finished(&self) -> bool {
        self.running().is_empty()
    }

    /// The stages with a thread that has not ended.
    pub(crate) fn unfinished(&self) -> Vec<Unfinished> {
        let mut stages: Vec<Unfinished> = Vec::new();
        for stage in self.running().iter().flatten() {
            // Each copy of a shard's body has a thread for each stage.
            if stages.iter().all(|listed| listed.stage != *stage) {
                stages.push(Unfinished { stage: stage.clone(), in_step: None });
            }
        }
        stages
    }

    /// Waits for at most `most` until all threads are done. Returns whether they are.
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

/// The means by which the threads of a stage pause.
#[derive(Clone)]
pub(crate) struct Pauses {
    pub(crate) control: Arc<Control>,
    pub(crate) thread: usize,
    /// Whether the stage is part of a `tee`.
    pub(crate) side_output: bool,
}

impl Pauses {
    /// Waits for `time`. Unwinds if the stage's result is no longer wanted.
    pub(crate) fn wait(&self, time: Duration) {
        pause(&self.control.unwanted, time, || self.unwanted());
    }

    /// The result of the future that `start` makes, or its panic. Waits for it, and drops it in any case. Unwinds if
    /// the stage's result is no longer wanted.
    pub(crate) fn finished<F: Future>(&self, start: impl FnOnce() -> F) -> Finished<F::Output> {
        let (unwanted, mut place) = (&self.control.unwanted, WakerSlot::default());
        let finished = caught(|| {
            let mut future = pin!(start());
            block_on(poll_fn(|cx| match future.as_mut().poll(cx) {
                Poll::Ready(result) => Poll::Ready(Some(result)),
                Poll::Pending => unwanted.poll(&mut place, cx, || self.unwanted().then_some(None)),
            }))
        });
        unwanted.leave(&mut place);
        finished.transpose().unwrap_or_else(|| resume_unwind(Box::new(GivenUp)))
    }

    /// As [`finished`](Pauses::finished). Unwinds also if the future panics.
    pub(crate) fn result<F: Future>(&self, start: impl FnOnce() -> F) -> F::Output {
        self.finished(start).unwrap_or_else(|payload| resume_unwind(payload))
    }

    fn unwanted(&self) -> bool {
        self.control.stopped() || !self.side_output && self.control.cancelled(self.thread)
    }
}

/// The progress of one thread.
pub(crate) struct Activity {
    control: Arc<Control>,
    /// The thread's index in the run; none for a side output, which finishes its input even if the other threads are
    /// cancelled.
    thread: Option<usize>,
    number: Cell<Option<u64>>,
    moved: Cell<u64>,
}

impl Activity {
    pub(crate) fn new(control: Arc<Control>, thread: Option<usize>) -> Self {
        Activity { control, thread, number: Cell::new(None), moved: Cell::new(0) }
    }

    /// Whether the thread takes no further slot.
    pub(crate) fn stopped(&self) -> bool {
        self.control.stopped.load(Ordering::Relaxed) || self.cancelled()
    }

    /// Whether the thread's output is no longer wanted.
    pub(crate) fn cancelled(&self) -> bool {
        self.thread.is_some_and(|thread| self.control.cancelled(thread))
    }

    /// Cancels the threads before this one.
    pub(crate) fn cancel_before(&self) {
        self.control.cancel(self.thread.unwrap_or(0));
    }

    /// Starts work on this number; the number before is done.
    pub(crate) fn works_on(&self, number: u64) {
        if self.number.get() != Some(number) {
            self.rests();
            self.number.set(Some(number));
        }
    }

    /// The number in progress is done.
    pub(crate) fn rests(&self) {
        if self.number.take().is_some() {
            self.moved.set(self.moved.get() + 1);
        }
    }

    /// The number in progress.
    pub(crate) fn number(&self) -> Option<u64> {
        self.number.get()
    }

    /// How many numbers are done.
    pub(crate) fn moved(&self) -> u64 {
        self.moved.get()
    }
}
