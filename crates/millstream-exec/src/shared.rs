//! What all threads of a run share, the source's among them: the signals, and how the run ends.
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
use crate::trace::Trace;
use crate::wait::IdleStrategy;
use crate::{RunError, Signal};
use millstream_core::SequenceNumber;
use millstream_core::failure::into_message;
use std::any::Any;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// What user code panicked with.
pub(crate) type Payload = Box<dyn Any + Send>;

pub(crate) struct Shared {
    pub(crate) signal: Signal,
    /// Wakes workers that have no tasklets, and stages that pause. They wait for a new placement or the end of the run, and would make every
    /// step of the others a wake-up if they waited for `signal`.
    pub(crate) surplus: Signal,
    pub(crate) idle: IdleStrategy,
    stopped: AtomicBool,
    draining: AtomicBool,
    /// It was stopped because draining it took too long.
    overdue: AtomicBool,
    /// Nobody wants what the tasklets before this task do.
    cancelled: AtomicUsize,
    failure: FirstFailure,
    /// Somebody takes the output one by one, and behind a failure what comes before it.
    delivers: AtomicBool,
    /// Nothing of that comes any more.
    rest_is_over: AtomicBool,
    pub(crate) notes: LatencyMarkers,
    pub(crate) trace: Trace,
    /// The source has published END.
    source_ended: AtomicBool,
    /// The source's thread runs the stages: workers wait for `surplus` meanwhile.
    together: AtomicBool,
    /// How often it has.
    turns: AtomicU64,
}

/// Where something failed, in the order in which one thread would have come to it: behind a stage that numbers afresh before
/// in front of it, since there one only gets by what was given for lesser numbers here; on one clock by number, and then in
/// pipeline order; and last what has no number.
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

    /// Behind all stages.
    pub(crate) fn sink(number: Option<u64>) -> Self {
        FailedAt::new(usize::MAX, number, usize::MAX)
    }
}

/// Why a run failed. Of several failures the one is kept that stands first, as [`FailedAt`] says: the same one, as far as can
/// be, in every run.
#[derive(Default)]
pub(crate) struct FirstFailure(Mutex<Option<(FailedAt, RunError)>>);

impl FirstFailure {
    pub(crate) fn keep(&self, at: FailedAt, failure: RunError) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.as_ref().is_none_or(|(kept, _)| at < *kept) {
            *kept = Some((at, failure));
        }
    }

    /// Where it failed, if that has a number.
    fn at(&self) -> Option<FailedAt> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map(|(at, _)| *at).filter(|at| !at.unnumbered)
    }

    pub(crate) fn get(&self) -> Option<RunError> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kept.as_ref().map(|(_, failure)| failure.clone())
    }
}

impl Shared {
    pub(crate) fn new(idle: IdleStrategy, notes: LatencyMarkers) -> Self {
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
            notes,
            trace: Trace::default(),
            source_ended: AtomicBool::new(false),
            together: AtomicBool::new(false),
            turns: AtomicU64::new(0),
        }
    }

    pub(crate) fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// Everybody stops at the next step.
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
        self.signal.notify();
        self.surplus.notify();
    }

    pub(crate) fn draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Whether the source's thread runs the stages.
    pub(crate) fn together(&self) -> bool {
        self.together.load(Ordering::Relaxed)
    }

    pub(crate) fn begin_together(&self) {
        self.together.store(true, Ordering::Relaxed);
    }

    /// The workers run the stages, and look what there is.
    pub(crate) fn end_together(&self) {
        self.together.store(false, Ordering::Relaxed);
        self.surplus.notify();
        self.signal.notify();
    }

    /// The source's thread has run the stages.
    pub(crate) fn took_turn(&self) {
        self.turns.store(self.turns() + 1, Ordering::Relaxed);
    }

    pub(crate) fn turns(&self) -> u64 {
        self.turns.load(Ordering::Relaxed)
    }

    /// Says that something has happened that is not the source's doing.
    pub(crate) fn wake(&self) {
        self.signal.notify();
        if self.together() {
            self.surplus.notify();
        }
    }

    /// Sources take no further values. Whoever says so notifies.
    pub(crate) fn drain(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.trace.draining();
    }

    /// Everybody stops, since draining took too long.
    pub(crate) fn stop_overdue(&self) {
        self.overdue.store(true, Ordering::Relaxed);
        self.stop();
    }

    pub(crate) fn overdue(&self) -> bool {
        self.overdue.load(Ordering::Relaxed)
    }

    /// The source has published END: said for whoever watches.
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

    /// Nobody wants any more what these first tasklets do. The run goes on.
    pub(crate) fn cancel(&self, tasks: usize) {
        self.cancelled.fetch_max(tasks, Ordering::Relaxed);
        self.signal.notify();
        self.surplus.notify();
    }

    /// Ends the run because user code of the source panicked, or something that has no number. No lock is held here: this drops
    /// what it panicked with, tells `tracing`, and wakes who waits, all of which can be the user's code.
    pub(crate) fn fail(&self, stage: &str, number: Option<u64>, payload: Payload) {
        self.fail_at(FailedAt::source(number), stage, number, payload);
    }

    /// As [`fail`](Shared::fail), of user code anywhere.
    pub(crate) fn fail_at(&self, at: FailedAt, stage: &str, number: Option<u64>, payload: Payload) {
        let (stage, number) = (stage.to_owned(), number.map(SequenceNumber));
        let failure = RunError::Stage { stage, number, cause: into_message(payload) };
        self.note_failure(at, failure.clone());
        self.report_failure(&failure);
    }

    /// Ends the run in front of all stages, as [`fail`](Shared::fail).
    pub(crate) fn fail_with(&self, failure: RunError) {
        let number = if let RunError::Stage { number, .. } = &failure { *number } else { None };
        self.note_failure(FailedAt::source(number.map(|number| number.0)), failure.clone());
        self.report_failure(&failure);
    }

    /// Everybody stops at the next step because of this failure. No user code runs here: to [tell](Shared::report_failure) of
    /// it has to follow.
    pub(crate) fn note_failure(&self, at: FailedAt, failure: RunError) {
        self.failure.keep(at, failure);
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn report_failure(&self, failure: &RunError) {
        self.trace.failed(failure);
        self.stop();
    }

    /// Behind a failure, what comes before it is wanted, or not any more.
    pub(crate) fn deliver_rest(&self, wanted: bool) {
        self.delivers.store(wanted, Ordering::Relaxed);
        self.signal.notify();
    }

    pub(crate) fn wants_rest(&self) -> bool {
        self.delivers.load(Ordering::Relaxed)
    }

    /// Where the run has failed, if that has a number.
    pub(crate) fn failed_at(&self) -> Option<FailedAt> {
        self.failure.at()
    }

    /// No thread does anything any more. Whoever says so notifies.
    pub(crate) fn end_rest(&self) {
        self.rest_is_over.store(true, Ordering::Release);
    }

    /// Whether the run was stopped, and nothing comes out any more. (One without tasklets has no threads from the start.)
    pub(crate) fn rest_is_over(&self) -> bool {
        self.stopped() && self.rest_is_over.load(Ordering::Acquire)
    }

    pub(crate) fn failure(&self) -> Option<RunError> {
        self.failure.get()
    }

    /// Waits until `ready` gives something, or the run is stopped: then none.
    pub(crate) fn wait_for<R>(&self, mut ready: impl FnMut() -> Option<R>) -> Option<R> {
        self.wait_until(|| ready().map(Some).or_else(|| self.stopped().then_some(None)))
    }

    /// Waits until `ready` gives something.
    pub(crate) fn wait_until<R>(&self, mut ready: impl FnMut() -> Option<R>) -> R {
        let mut round = 0_u32;
        loop {
            if let Some(found) = ready() {
                return found;
            }
            round = round.saturating_add(1);
            if self.idle.wait(round) {
                continue;
            }
            if let Some(found) = self.signal.park_unless(&mut ready) {
                return found;
            }
            round = 0;
        }
    }
}
