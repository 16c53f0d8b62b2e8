mod drain;
mod shadow;
mod snapshot;
mod upgrade;

#[cfg(feature = "queues")]
pub(crate) use drain::values_left;
pub use shadow::Shadow;
pub use snapshot::{LaidCut, Snapshotter};
pub use upgrade::Upgrader;

use crate::RunOutcome;
use crate::external_source::{ExternalSource, StopSource};
use crate::keeps::RingRunner;
use crate::machine::{Cores, Pins};
use crate::observer::{Counters, Observer};
use crate::pool::Pool;
use crate::pool::placing::set_workers;
use crate::present::Present;
use crate::report::StageReport;
use crate::sink_tasklet::{Finish, Seen};
use crate::upgrade::{Ends, Site};
use crate::{ProducerPanics, Report, Rings, RunEnd, RunError};
use std::marker::PhantomData;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A job that is running on rings; its sink returns an `O`. Dropping it stops the run, and drops the sink. To wait for
/// the run is a panic in its closures and in its source, which the run would wait for.
pub struct Handle<O, R: RingRunner = Rings> {
    pub(crate) started: Started,
    pub(crate) sink: Arc<dyn Finish<O>>,
    pub(crate) runner: PhantomData<fn() -> R>,
}

/// The part of a running pipeline that does not depend on its output.
pub(crate) struct Started {
    pub(crate) pool: Arc<Pool>,
    pub(crate) present: Arc<Mutex<Present>>,
    /// Ends the stream of a source that is not a tasklet.
    pub(crate) end_source: Option<StopSource>,
    pub(crate) cores: Cores,
    pub(crate) inline: bool,
    /// The places where another pipeline can replace this one. `None` if the program takes the output itself.
    pub(crate) ends: Option<Ends>,
    pub(crate) site: Site,
}

/// Drains or stops a run from any thread, while another waits for it.
#[derive(Clone)]
pub struct Stopper(Arc<dyn Stops>);

/// Ends a run from outside.
pub(crate) trait Stops: Send + Sync {
    /// Takes no further values from the source.
    fn drain(&self);
    /// As `drain`, and stops the run if that takes longer than `most`. Returns whether it finished in time.
    fn drain_within(&self, most: Duration) -> bool;
    fn stop(&self);
    fn unfinished(&self) -> Vec<Unfinished>;
}

impl Stopper {
    pub(crate) fn of(run: Arc<dyn Stops>) -> Self {
        Stopper(run)
    }

    /// Asks the run to end its source at once and to finish every accepted value.
    pub fn drain(&self) {
        self.0.drain();
    }

    /// Asks every stage to stop at its next batch.
    pub fn stop_now(&self) {
        self.0.stop();
    }

    /// The stages that have not ended, in pipeline order. If a drained or stopped run does not end, a stage stays [in a
    /// step](Unfinished::in_step): one of its closures does not return.
    #[must_use]
    pub fn unfinished(&self) -> Vec<Unfinished> {
        self.0.unfinished()
    }
}

/// A stage of a run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unfinished {
    /// Its name in the plan; `source` and `sink` are the ends.
    pub stage: String,
    /// Whether one of its tasklets was in the middle of a step. A step is short unless a closure takes long. None on
    /// queues, where it is unknown.
    pub in_step: Option<bool>,
}

impl std::fmt::Debug for Stopper {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stopper").finish_non_exhaustive()
    }
}

/// Ends a run on rings.
struct RunStopper {
    pool: Arc<Pool>,
    /// Weak: a [`Stopper`] may outlive the run, and keeps none of its values alive.
    end_source: Option<Weak<dyn ExternalSource>>,
}

impl Stops for RunStopper {
    fn drain(&self) {
        if self.pool.finished() {
            return;
        }
        self.pool.shared.drain();
        if let Some(source) = self.end_source.as_ref().and_then(Weak::upgrade) {
            source.end();
        }
        self.pool.shared.wake();
    }

    fn drain_within(&self, most: Duration) -> bool {
        self.drain();
        self.assert_outside();
        let in_time = self.wait_until_finished(most);
        if !in_time {
            self.pool.shared.stop_overdue();
        }
        in_time
    }

    fn stop(&self) {
        if !self.pool.finished() {
            self.pool.shared.stop();
        }
    }

    fn unfinished(&self) -> Vec<Unfinished> {
        let mut stages: Vec<Unfinished> = Vec::new();
        let roster = self.pool.roster();
        for (task, stepped) in roster.tasks.iter().filter_map(|task| Some((task, task.in_step()?))) {
            match stages.last_mut() {
                Some(last) if last.stage == task.name => last.in_step = last.in_step.map(|before| before || stepped),
                _ => stages.push(Unfinished { stage: task.name.clone(), in_step: Some(stepped) }),
            }
        }
        stages
    }
}

impl Started {
    fn ends(&self) -> RunStopper {
        RunStopper { pool: self.pool.clone(), end_source: self.end_source.as_ref().map(Arc::downgrade) }
    }

    fn drain(&self) {
        self.ends().drain();
    }

    fn stop(&self) {
        self.ends().stop();
    }

    fn present(&self) -> MutexGuard<'_, Present> {
        self.present.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observer(&self) -> Observer {
        self.present().observer.clone()
    }

    /// A handle by which other threads can end the run.
    fn stopper(&self) -> Stopper {
        Stopper::of(Arc::new(self.ends()))
    }

    /// How the run ended.
    fn outcome(&self) -> RunOutcome {
        let shared = &self.pool.shared;
        // The stream may have ended just when the run was stopped.
        let stopped = shared.stopped() && !(shared.overdue() && self.pool.is_empty());
        match (stopped, shared.draining()) {
            (true, _) => RunOutcome::Stopped,
            (false, true) => RunOutcome::Drained,
            (false, false) => RunOutcome::End,
        }
    }

    /// Waits for the workers, drops every tasklet, finishes the sinks with names, and returns the report.
    pub(crate) fn join(&mut self) -> (Report, Option<RunError>) {
        // Once it is drained, the run waits for its source no longer.
        let in_source = self.pool.shared.source_waits.are_here() && !self.pool.shared.draining();
        assert!(
            self.pool.finished() || !(in_source || self.pool.worker_calls()),
            "a closure of a run waits for the end of that run, which waits for the closure"
        );
        self.pool.join();
        let mut counters = Counters::default();
        let observer = self.observer();
        observer.read(&mut counters);
        let loads = observer.loads(&Counters::default(), &counters, None);
        let tasklets = self.pool.roster().tasks.len();
        let (changes, refused_changes) = (self.changes(), self.refused_changes());
        let stages = self.clear();
        let mut failure = self.pool.shared.failure();
        let controller = self.pool.controller();
        let pins = self.pool.pins.as_ref();
        let mut report = Report {
            outcome: if failure.is_some() { RunOutcome::Failed } else { self.outcome() },
            first: 0.into(),
            numbers: 0.into(),
            values: 0,
            workers: if self.inline { 0 } else { controller.workers() },
            cores: self.cores.clone(),
            pinned: pins.map_or_else(Vec::new, Pins::pinned),
            tasklets,
            ring_bytes: self.present().ring_bytes,
            elapsed: observer.elapsed(),
            stages,
            rates: controller.rates(),
            decisions: [controller.decisions(), pins.map_or_else(Vec::new, Pins::decisions)].concat(),
            rings: counters.rings,
            loads,
            producer_panics: self.producer_panics(),
            changes,
            refused_changes,
        };
        drop(controller);
        let side_sinks = std::mem::take(&mut self.present().side_sinks);
        side_sinks.finish(&mut report, &mut failure);
        self.pool.shared.trace.ended(&report);
        (report, failure)
    }

    /// Drops every tasklet and the rest of the source. Returns the reports of the stages.
    fn clear(&self) -> Vec<StageReport> {
        let mut stages = self.pool.clear();
        let mut accepted = None;
        if let Some(source) = &self.end_source {
            accepted = source.accepted();
            source.clear();
        }
        #[cfg(feature = "service")]
        if let Some(before) = self.pool.remains() {
            (stages, accepted) = (before.stages, before.accepted);
        }
        if let Some(accepted) = accepted {
            StageReport::put_source(&mut stages, accepted);
        }
        stages
    }

    /// Drops the values of the run as soon as it has failed or was stopped, and its threads have left, and calls
    /// `elsewhere` then. Returns the state of the run, which has its failure and none of its values.
    #[cfg(feature = "service")]
    pub(crate) fn release_at_end(&self, elsewhere: Option<crate::pool::Releases>) -> Arc<crate::shared::Shared> {
        self.pool.release_at_end(self.end_source.as_ref().map(Arc::downgrade), elsewhere);
        self.pool.shared.clone()
    }

    /// Stops the run without waiting: its threads drop the remaining tasklets when they exit.
    #[cfg(feature = "stream")]
    pub(crate) fn abandon(&self) {
        self.pool.shared.deliver_rest(false);
        self.pool.shared.stop();
        self.pool.abandon();
    }

    fn producer_panics(&self) -> ProducerPanics {
        self.end_source.as_ref().map_or_else(ProducerPanics::default, |source| source.panics())
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.pool.shared.deliver_rest(false);
        self.pool.shared.stop();
        // A closure of the run itself: no worker can wait for its own thread.
        if self.pool.worker_calls() {
            self.pool.abandon();
        }
        if !self.pool.is_abandoned() {
            self.pool.join();
            self.pool.clear();
        }
        if let Some(source) = &self.end_source {
            source.clear();
        }
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Waits for the end of the stream. Returns what the sink returns, and a report of the run.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed.
    pub fn wait(self) -> Result<(O, Report), RunError> {
        self.join().ok()
    }

    /// Stops every stage at its next batch; the report says what was left. Waits for closures that are running.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed before.
    pub fn stop_now(self) -> Result<(O, Report), RunError> {
        self.started.stop();
        self.wait()
    }

    /// Asks the run to drain and returns at once; [`wait`](Handle::wait) then returns the report.
    pub fn begin_drain(&self) {
        self.started.drain();
    }

    /// Returns a handle by which another thread can drain or stop the run while this one waits.
    pub fn stopper(&self) -> Stopper {
        self.started.stopper()
    }

    /// Switches the observation of latencies, batch sizes and empty slots on or off. An [`Observer`]'s other counters
    /// are always kept. Observation adds nothing to a loop over items, and allocates nothing per item.
    pub fn observe(&self, on: bool) {
        self.started.observer().observe(on);
    }

    /// Returns an observer that reads the counters of the run, from any thread, during the run and after it. It sees
    /// the present pipeline; [`successor`](Observer::successor) finds one that [takes its place](Handle::upgrade).
    #[must_use]
    pub fn observer(&self) -> Observer {
        self.started.observer()
    }

    /// Places the tasklets on `workers` workers from now on, at least 1, without stopping the run and without changing
    /// the output.
    ///
    /// # Errors
    ///
    /// If a thread could not be started; then fewer workers run.
    pub fn set_workers(&self, workers: usize) -> Result<(), RunError> {
        let workers = workers.clamp(1, self.started.pool.seats());
        set_workers(&self.started.pool, workers).map_err(|error| RunError::Spawn(error.to_string()))
    }

    /// The present number of workers.
    #[must_use]
    pub fn workers(&self) -> usize {
        self.started.pool.controller().workers()
    }

    /// The producers of a [fan-in](crate::fan_in) that have ended by a panic of their threads, if
    /// [`isolate_panics`](crate::FanIn::isolate_panics) is set. The report has them after the end.
    #[must_use]
    pub fn producer_panics(&self) -> ProducerPanics {
        self.started.producer_panics()
    }

    /// Whether everything is done, or the run has failed.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        self.started.pool.finished()
    }

    /// The failure of the run, if it has failed by now.
    #[must_use]
    pub fn failure(&self) -> Option<RunError> {
        self.started.pool.shared.failure()
    }

    /// Waits for the end. Returns, even if the run failed, what the sink returns and the report up to there.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// let p = pipeline::<u64>().map(|x| 100 / (5 - x)).named("divide");
    /// let ended = p.from(source::ready(0..9)).to(sink::collect()).start()?.join();
    /// assert_eq!(ended.report.outcome, RunOutcome::Failed);
    /// let failure = ended.failure.unwrap().to_string();
    /// assert!(failure.starts_with("stage \"divide\", number 5: panicked"));
    /// assert!([20, 25, 33, 50, 100].starts_with(&ended.output.unwrap()));
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn join(mut self) -> RunEnd<O> {
        let (report, failure) = self.started.join();
        let Some(Seen { first, numbers, values, ended }) = self.sink.seen() else {
            return RunEnd { output: None, report, failure };
        };
        let report = Report { first, numbers, values, ..report };
        let failure = failure.or_else(|| self.started.overdue(&report, ended));
        self.sink.end(report, failure)
    }
}

impl<O, R: RingRunner> std::fmt::Debug for Handle<O, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Handle").field("workers", &self.workers()).finish_non_exhaustive()
    }
}
