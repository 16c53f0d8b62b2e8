//! The state that all threads of a run share, including the source's: the signals, and how the run ends.
//!
//! **Failures.** A panic in user code is caught at the step. An error that a `try_map` returns takes the same way,
//! without a panic's message on standard error. The run's error names the stage, the number and the cause. Every
//! waiting thread wakes and ends, and every value in a ring is dropped once. A failure stops all stages at their next
//! step. Of several failures that were under way at the same time, the run reports the one that a single thread would
//! have met first ([`FailedAt`]): numbers are compared within one clock only, and a failure downstream of a renumbering
//! stage comes before one upstream of it.
//!
//! SAFETY.md lists all places where user code runs, and what prevents harm in each: it may panic, or ask for the run,
//! in more places than its closures.

use crate::latency_markers::LatencyMarkers;
use crate::lead::Lead;
use crate::machine::usable_cores;
use crate::marks::Marks;
use crate::moves::Moves;
use crate::pause::BesideTasks;
use crate::signal::Condition;
use crate::source::Waits;
use crate::trace::Trace;
use crate::wait::IdleStrategy;
use crate::{RunError, Signal, Wait};
use millstream_core::failure::discard;
use std::any::Any;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The payload of a panic in user code.
pub(crate) type Payload = Box<dyn Any + Send>;

pub(crate) struct Shared {
    pub(crate) signal: Signal,
    /// Wakes workers that have no tasklets, and stages that pause. They wait for a new placement or the end of the run;
    /// if they waited for `signal`, every step of the other workers would wake them.
    pub(crate) surplus: Signal,
    pub(crate) idle: IdleStrategy,
    stopped: AtomicBool,
    draining: AtomicBool,
    /// The run was stopped because draining it took too long.
    overdue: AtomicBool,
    /// The output of the tasklets before this task is no longer wanted.
    cancelled: AtomicUsize,
    failure: FirstFailure,
    /// A consumer takes the output one by one. After a failure it still receives the output before the failure.
    delivers: AtomicBool,
    /// No further output comes after a failure.
    rest_is_over: AtomicBool,
    pub(crate) markers: LatencyMarkers,
    pub(crate) marks: Marks,
    pub(crate) beside: BesideTasks,
    pub(crate) trace: Trace,
    pub(crate) moves: Moves,
    /// The source has published END.
    source_ended: AtomicBool,
    /// How the thread of a source waits for a time.
    pub(crate) source_waits: Arc<Waits>,
    /// The source's thread or a caller's runs the stages; meanwhile workers wait for `surplus`.
    lead: Lead,
    /// Whether it does so after every block of values that come fast, and so soon again unless the source waits.
    quick: AtomicBool,
    /// How many times such a thread has run the stages, and how many times it began to run them after every block.
    turns: AtomicU64,
    leads: AtomicU64,
    /// Whether one worker has all tasklets that workers share, and no other one is tried.
    one_worker: AtomicBool,
}

/// The place of a failure. The order is the one in which a single thread would meet failures: a later clock before an
/// earlier one, because a failure downstream of a renumbering stage belongs to values from lesser numbers upstream of
/// it; on one clock by number, then in pipeline order. A failure without a number comes last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FailedAt {
    unnumbered: bool,
    clock: Reverse<usize>,
    number: u64,
    index: usize,
}

impl FailedAt {
    /// A number of this clock; the tasklet is the `index`-th in pipeline order.
    pub(crate) fn new(clock: usize, number: Option<u64>, index: usize) -> Self {
        FailedAt { unnumbered: number.is_none(), clock: Reverse(clock), number: number.unwrap_or(0), index }
    }

    /// Before all stages.
    pub(crate) fn source(number: Option<u64>) -> Self {
        FailedAt::new(0, number, 0)
    }

    pub(crate) fn clock(self) -> usize {
        self.clock.0
    }

    pub(crate) fn number(self) -> u64 {
        self.number
    }

    /// After all stages.
    pub(crate) fn sink(number: Option<u64>) -> Self {
        FailedAt::new(usize::MAX, number, usize::MAX)
    }
}

/// Why a run failed. Of several failures it is the first in the order of [`FailedAt`]: as far as possible the same one
/// in every run.
///
/// All are kept as long as the run is: dropping an error that a closure returned runs the user's code, which must not
/// run under the lock.
#[derive(Default)]
pub(crate) struct FirstFailure(Mutex<Vec<(FailedAt, RunError)>>);

impl FirstFailure {
    pub(crate) fn keep(&self, at: FailedAt, failure: RunError) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push((at, failure));
        let last = kept.len() - 1;
        if at < kept[0].0 {
            kept.swap(0, last);
        }
    }

    /// The place of the failure, if it has a number.
    fn at(&self) -> Option<FailedAt> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.first().map(|(at, _)| *at).filter(|at| !at.unnumbered)
    }

    pub(crate) fn get(&self) -> Option<RunError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.first().map(|(_, failure)| failure.clone())
    }
}

impl Shared {
    pub(crate) fn new(idle: IdleStrategy) -> Self {
        Shared {
            signal: Signal::new(),
            surplus: Signal::new(),
            idle,
            stopped: AtomicBool::new(false),
            draining: AtomicBool::new(false),
            overdue: AtomicBool::new(false),
            cancelled: AtomicUsize::new(0),
            failure: FirstFailure::default(),
            delivers: AtomicBool::new(false),
            rest_is_over: AtomicBool::new(false),
            markers: LatencyMarkers::new(),
            marks: Marks::new(),
            beside: BesideTasks::default(),
            trace: Trace::default(),
            moves: Moves::default(),
            source_ended: AtomicBool::new(false),
            source_waits: Arc::default(),
            lead: Lead::new(),
            quick: AtomicBool::new(false),
            turns: AtomicU64::new(0),
            leads: AtomicU64::new(0),
            one_worker: AtomicBool::new(false),
        }
    }

    /// The state of a source that exists before its run.
    pub(crate) fn early() -> Self {
        Shared::new(IdleStrategy::of(Wait::default(), usable_cores().usable))
    }

    /// Whether one worker has all tasklets that workers share, and no other one is tried.
    pub(crate) fn has_one_worker(&self) -> bool {
        self.one_worker.load(Ordering::Relaxed)
    }

    /// This number of workers has them from now on.
    pub(crate) fn has_workers(&self, workers: usize) {
        self.one_worker.store(workers == 1, Ordering::Relaxed);
    }

    /// A run has taken the source.
    pub(crate) fn adopt(&self, wait: Wait, cores: usize) {
        self.idle.adopt(wait, cores);
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Stops every thread at its next step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.signal.notify();
        self.surplus.notify();
        self.source_waits.end();
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether the source's thread or a caller's runs the stages.
    pub(crate) fn together(&self) -> bool {
        self.lead.is_taken()
    }

    /// The same, for the source's thread after it has gathered a value.
    #[inline]
    pub(crate) fn still_together(&self) -> bool {
        self.lead.is_still_taken()
    }

    /// With `quick`, such a thread soon takes its next turn, unless the source waits. Then a worker is awake from time
    /// to time.
    pub(crate) fn begin_together(&self, quick: bool) {
        self.quick.store(quick, Ordering::Relaxed);
        self.lead.take();
        if quick {
            self.leads.fetch_add(1, Ordering::Relaxed);
            self.signal.notify();
        }
    }

    pub(crate) fn leads(&self) -> u64 {
        self.leads.load(Ordering::Relaxed)
    }

    pub(crate) fn is_quick(&self) -> bool {
        self.quick.load(Ordering::Relaxed)
    }

    /// Returns the stages to the workers, and wakes them.
    pub(crate) fn end_together(&self) {
        self.lead.end();
        self.surplus.notify();
        self.signal.notify();
    }

    /// Counts a turn in which such a thread has run the stages.
    pub(crate) fn took_turn(&self) {
        self.turns.store(self.turns() + 1, Ordering::Relaxed);
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Notifies also while a thread other than a worker runs the stages.
    pub(crate) fn wake(&self) {
        self.signal.notify();
        if self.together() {
            self.surplus.notify();
        }
    }

    /// Sources accept no further values. The caller notifies.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.trace.draining();
    }

    /// Stops every thread, because draining took too long.
    pub(crate) fn stop_overdue(&self) {
        self.overdue.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed)
    }

    /// Records for observers that the source has published END.
    pub(crate) fn end_source(&self) {
        self.source_ended.store(true, Ordering::Relaxed);
    }

    pub(crate) fn source_has_ended(&self) -> bool {
        self.source_ended.load(Ordering::Relaxed)
    }

    /// How many tasks, from the first on, are cancelled.
    pub(crate) fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Cancels the first `tasks` tasklets: their output is no longer wanted. The run goes on.
    pub(crate) fn cancel(&self, tasks: usize) {
        self.cancelled.fetch_max(tasks, Ordering::Relaxed);
        self.signal.notify();
        self.surplus.notify();
    }

    /// Ends the run because of a panic in the source's user code, or one without a number. The caller holds no lock:
    /// this drops the payload, reports to `tracing` and wakes waiters, all of which may run user code.
    pub(crate) fn fail(&self, stage: &str, number: Option<u64>, payload: Payload) {
        self.fail_at(FailedAt::source(number), stage, number, payload);
    }

    /// As [`fail`](Shared::fail), for user code anywhere.
    pub(crate) fn fail_at(&self, at: FailedAt, stage: &str, number: Option<u64>, payload: Payload) {
        let failure = RunError::unwound(stage, number, payload.as_ref());
        discard(payload);
        self.note_failure(at, failure.clone());
        self.report_failure(&failure);
    }

    /// Ends the run with a failure upstream of all stages, as [`fail`](Shared::fail) does.
    pub(crate) fn fail_with(&self, failure: RunError) {
        let number = if let RunError::Stage { number, .. } = &failure { *number } else { None };
        self.note_failure(FailedAt::source(number.map(|number| number.0)), failure.clone());
        self.report_failure(&failure);
    }

    /// Stops every thread at its next step because of this failure. Runs no user code; the caller then
    /// [reports](Shared::report_failure) the failure.
    pub(crate) fn note_failure(&self, at: FailedAt, failure: RunError) {
        self.failure.keep(at, failure);
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn report_failure(&self, failure: &RunError) {
        self.trace.failed(failure);
        self.stop();
    }

    /// Whether a consumer still wants the output before a failure.
    pub(crate) fn deliver_rest(&self, wanted: bool) {
        self.delivers.store(wanted, Ordering::Relaxed);
        self.signal.notify();
    }

    pub(crate) fn wants_rest(&self) -> bool {
        self.delivers.load(Ordering::Relaxed)
    }

    /// The place of the run's failure, if it has a number.
    pub(crate) fn failed_at(&self) -> Option<FailedAt> {
        self.failure.at()
    }

    /// No thread takes further steps. The caller notifies.
    pub(crate) fn end_rest(&self) {
        self.rest_is_over.store(true, Ordering::Release);
    }

    /// Whether the run was stopped and no further output comes. A run without tasklets has no threads from the start.
    pub(crate) fn rest_is_over(&self) -> bool {
        self.stopped() && self.rest_is_over.load(Ordering::Acquire)
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    /// Waits until `ready` returns a value. None if the run is stopped.
    pub(crate) fn wait_for<R>(&self, mut ready: impl FnMut() -> Option<R>) -> Option<R> {
        self.wait_until(|| ready().map(Some).or_else(|| self.stopped().then_some(None)))
    }

    /// As [`wait_for`](Shared::wait_for). Progress of the run wakes the thread only where `condition` is met, if there
    /// is one.
    pub(crate) fn wait_for_if<R>(
        &self,
        mut ready: impl FnMut() -> Option<R>,
        condition: Option<&Condition>,
    ) -> Option<R> {
        self.wait_until_if(|| ready().map(Some).or_else(|| self.stopped().then_some(None)), condition)
    }

    /// Waits until `ready` returns a value.
    pub(crate) fn wait_until<R>(&self, ready: impl FnMut() -> Option<R>) -> R {
        self.wait_until_if(ready, None)
    }

    fn wait_until_if<R>(&self, mut ready: impl FnMut() -> Option<R>, condition: Option<&Condition>) -> R {
        let mut round = 0_u32;
        loop {
            if let Some(found) = ready() {
                return found;
            }
            round = round.saturating_add(1);
            if self.idle.wait(round) {
                continue;
            }
            let found = match condition {
                Some(condition) => self.signal.park_until(condition, &mut ready),
                None => self.signal.park_unless(&mut ready),
            };
            if let Some(found) = found {
                return found;
            }
            round = 0;
        }
    }
}
