use super::control::{Activity, Control};
use super::wiring::Thread;
use crate::bottleneck::Loads;
use crate::external_source::StopSource;
use crate::handle::{Stops, values_left};
use crate::machine::usable_cores;
use crate::pause::GivenUp;
use crate::report::StageReport;
use crate::shared::FailedAt;
use crate::side_sinks::SideSinks;
use crate::sink_tasklet::{Finish, Seen};
use crate::{Report, RunEnd, RunError, Stopper, Unfinished};
use millstream_core::failure::{caught, discard};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// A running pipeline on [`Queues`](crate::Queues). Dropping it stops the run and waits for its threads. In a closure
/// of the run it only stops the run, since the threads next to that stage wait for the closure.
pub struct QueuesHandle<O> {
    ends: Arc<RunStopper>,
    threads: Vec<JoinHandle<StageReport>>,
    queue_bytes: usize,
    /// Whether its output has other numbers than its source.
    renumbered: bool,
    since: Instant,
    side_sinks: SideSinks,
    sink: Arc<dyn Finish<O>>,
}

/// Ends a run from outside.
pub(crate) struct RunStopper {
    pub(crate) control: Arc<Control>,
    /// A source that waits: the control ends it, and this keeps it alive.
    pub(crate) source: Option<StopSource>,
}

impl Stops for RunStopper {
    fn drain(&self) {
        if !self.control.finished() {
            self.control.drain();
        }
    }

    fn drain_within(&self, most: Duration) -> bool {
        self.drain();
        self.control.assert_outside();
        let in_time = self.control.wait_until_finished(most);
        if !in_time {
            self.control.stop_overdue();
        }
        in_time
    }

    fn stop(&self) {
        if !self.control.finished() {
            self.control.stop();
        }
    }

    fn unfinished(&self) -> Vec<Unfinished> {
        self.control.unfinished()
    }
}

impl<O> QueuesHandle<O> {
    /// Starts all threads. If one cannot be started, stops those that were.
    pub(crate) fn start(
        ends: RunStopper,
        works: Vec<Thread>,
        (queue_bytes, renumbered): (usize, bool),
        (side_sinks, sink): (SideSinks, Arc<dyn Finish<O>>),
    ) -> Result<Self, RunError> {
        let (ends, threads, since) = (Arc::new(ends), Vec::new(), Instant::now());
        let mut handle = QueuesHandle { ends, threads, queue_bytes, renumbered, since, side_sinks, sink };
        // If one cannot be started, the dropped handle ends those that were.
        spawn_all(&handle.ends.control, works, &mut handle.threads)?;
        Ok(handle)
    }

    /// Waits for the end of the stream; returns what the sink does, and what the run did. Panics as
    /// [`join`](QueuesHandle::join).
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed.
    pub fn wait(self) -> Result<(O, Report), RunError> {
        self.join().ok()
    }

    /// Ends the source at once, even while it waits for a value, and finishes every accepted value. Stops the run after
    /// `most`. Panics as [`join`](QueuesHandle::join), but not in the source.
    ///
    /// Accepted are the values that the source's iterator has returned, and those that were sent to a
    /// [`channel`](crate::source::channel) or a [`fan_in`](crate::fan_in) that is the source. What waits in a channel
    /// that the source joins with others, or whose rate it limits, is dropped.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed. [`RunError::DrainTimeout`], with the number of values left, if
    /// accepted values were left when the time was over.
    pub fn drain(self, most: Duration) -> Result<(O, Report), RunError> {
        self.drain_join(most).ok()
    }

    /// As [`drain`](QueuesHandle::drain), but returns, even if the time was over or the run failed, what the sink
    /// returns and the report up to there.
    #[must_use]
    pub fn drain_join(self, most: Duration) -> RunEnd<O> {
        self.ends.drain_within(most);
        self.join()
    }

    /// Stops every stage at its next slot; the report says what was left. Waits for closures that are running.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed before.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it: as [`join`](QueuesHandle::join). The run is stopped all the same.
    pub fn stop_now(self) -> Result<(O, Report), RunError> {
        self.ends.stop();
        self.wait()
    }

    /// Returns a handle by which another thread can drain or stop the run while this one waits.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper::of(self.ends.clone())
    }

    /// Whether everything is done.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.ends.control.finished()
    }

    /// Waits for the end. Returns, even if the run failed, what the sink returns and the report up to there.
    ///
    /// # Panics
    ///
    /// If a closure of the run calls it. That holds for a run that was stopped, too: the threads before and after that
    /// stage wait until the closure has returned. A closure that ends its run drops the handle. If the source of a run
    /// calls it that was neither drained nor stopped.
    #[must_use]
    pub fn join(mut self) -> RunEnd<O> {
        self.ends.control.assert_outside();
        let mut stages = self.join_threads();
        let threads = stages.len();
        if let Some(accepted) = self.ends.source.as_ref().and_then(|source| source.accepted()) {
            StageReport::put_source(&mut stages, accepted);
        }
        let control = &self.ends.control;
        let lost = Seen { first: 0.into(), numbers: 0.into(), values: 0, ended: false };
        let Seen { first, numbers, values, ended } = self.sink.seen().unwrap_or(lost);
        // The stream may have ended just when the run was stopped.
        let in_time = !control.overdue() || ended && stages.iter().all(|stage| stage.left == 0);
        let mut report = Report {
            outcome: control.outcome(in_time),
            first,
            numbers,
            values,
            workers: threads,
            cores: usable_cores(),
            pinned: Vec::new(),
            tasklets: threads,
            rates: Vec::new(),
            ring_bytes: self.queue_bytes,
            elapsed: self.since.elapsed(),
            decisions: vec![format!("{threads} threads: one a stage, and those that copy, zip and route")],
            stages,
            rings: Vec::new(),
            loads: Loads::default(),
            producer_panics: Default::default(),
            changes: Vec::new(),
            refused_changes: Vec::new(),
        };
        let overdue = || {
            let left = values_left(&report, control.source_has_ended(), self.renumbered);
            (!in_time).then_some(RunError::DrainTimeout { left })
        };
        let mut failure = control.failure().or_else(overdue);
        std::mem::take(&mut self.side_sinks).finish(&mut report, &mut failure);
        self.sink.end(report, failure)
    }

    fn join_threads(&mut self) -> Vec<StageReport> {
        self.threads.drain(..).filter_map(|thread| thread.join().map_err(discard).ok()).collect()
    }
}

impl<O> Drop for QueuesHandle<O> {
    fn drop(&mut self) {
        self.ends.stop();
        if !self.ends.control.is_here() {
            self.join_threads();
        }
    }
}

impl<O> std::fmt::Debug for QueuesHandle<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuesHandle").field("threads", &self.threads.len()).finish_non_exhaustive()
    }
}

/// Starts a thread for each. `threads` has those that were started, even if one cannot be.
fn spawn_all(
    control: &Arc<Control>,
    works: Vec<Thread>,
    threads: &mut Vec<JoinHandle<StageReport>>,
) -> Result<(), RunError> {
    for (index, work) in works.into_iter().enumerate() {
        let (name, stage) = (work.name.clone(), work.stage());
        control.started(stage.clone());
        let started = Builder::new().name(format!("millstream-{name}").replace('\0', "")).spawn({
            let control = control.clone();
            move || run(work, index, &control)
        });
        match started {
            Ok(thread) => threads.push(thread),
            Err(error) => {
                control.finished_one(stage.as_deref());
                return Err(RunError::Spawn(error.to_string()));
            }
        }
    }
    Ok(())
}

/// The whole work of one thread.
fn run(thread: Thread, index: usize, control: &Arc<Control>) -> StageReport {
    let stage = thread.stage();
    let Thread { name, mut work, keys, side_output, clock, .. } = thread;
    control.starts_here();
    let activity = Activity::new(control.clone(), (!side_output).then_some(index));
    match caught(|| work.run(&activity)) {
        Ok(()) => {}
        // Its output is no longer wanted: the payload is no failure.
        Err(payload) if payload.is::<GivenUp>() => {}
        Err(payload) if activity.cancelled() => discard(payload),
        Err(payload) => control.fail(FailedAt::new(clock, activity.number(), index), &name, activity.number(), payload),
    }
    let left = work.left() as u64;
    // The values left in its queues are the user's, and dropping them runs user code.
    if let Err(payload) = caught(|| drop(work)) {
        control.fail(FailedAt::new(clock, None, index), &name, None, payload);
    }
    control.finished_one(stage.as_deref());
    StageReport {
        name,
        moved: activity.moved(),
        steps: activity.moved(),
        left,
        ns_per_number: None,
        longest_step: Duration::ZERO,
        budget: None,
        overruns: 0,
        blocking: true,
        fused_into: None,
        keys: keys.map(|keys| keys.load(Ordering::Relaxed)),
        state_bytes: None,
        failures: 0,
        retries: 0,
        looked_at: 0,
        empties: 0,
        parked: 0,
        batches: Default::default(),
        is_end: false,
    }
}
