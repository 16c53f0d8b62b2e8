//! Draining within a time, and the values left if that time is too short.

use super::{Handle, RunEnd, RunStopper, Started, Stopper, Stops};
use crate::keeps::RingRunner;
use crate::pool::Pool;
use crate::{Report, RunError};
use std::time::{Duration, Instant};

impl Stopper {
    /// As [`drain`](Stopper::drain), and waits until the run has finished, for at most `most`; then it stops the run.
    /// Returns whether the run finished in time. If it did not, waiting for the run returns a
    /// [`RunError::DrainTimeout`] with the number of accepted values that were left.
    ///
    /// # Panics
    ///
    /// In a closure of a run that has not ended, which would wait for that closure. [`drain`](Stopper::drain) is for
    /// those.
    pub fn drain_within(&self, most: Duration) -> bool {
        self.0.drain_within(most)
    }
}

impl Started {
    /// The error of a drain that ran out of time, with the number of values left.
    pub(super) fn overdue(&self, report: &Report, ended: bool) -> Option<RunError> {
        let Pool { shared, .. } = &*self.pool;
        if !shared.overdue() || ended && self.pool.is_empty() {
            return None;
        }
        let renumbered = self.observer().plan().renumbers();
        let source_ended = shared.source_has_ended() || self.pool.source_is_done();
        Some(RunError::DrainTimeout { left: values_left(report, source_ended, renumbered) })
    }
}

impl<O, R: RingRunner> Handle<O, R> {
    /// Ends the source at once, even while it waits for a value, and finishes every accepted value. Stops the run after
    /// `most`.
    ///
    /// Of a [`channel`](fn@crate::source::channel) or a [`fan_in`](crate::fan_in) that is the source of the run, every
    /// value that was sent is accepted. Behind another source, such as [`timeout`](fn@crate::source::timeout),
    /// [`throttle`](fn@crate::source::throttle) or [`zip`](fn@crate::source::zip), only what that source has yielded
    /// is: the rest is dropped. Dropping the `Sender` in place of a drain ends such a stream without a loss.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed. If accepted values were left when the time was over:
    /// [`RunError::DrainTimeout`] says how many. [`drain_join`](Handle::drain_join) returns what the sink returns even
    /// then.
    ///
    /// # Panics
    ///
    /// In a closure of the run, which would wait for that closure. A panic drops the handle, which stops the run.
    pub fn drain(self, most: Duration) -> Result<(O, Report), RunError> {
        self.drain_join(most).ok()
    }

    /// As [`drain`](Handle::drain), but returns, even if the time was over or the run failed, what the sink returns and
    /// the report up to there.
    ///
    /// ```
    /// use millstream::prelude::*;
    /// use std::time::Duration;
    /// let p = pipeline::<u64>().map_async(8, |_| std::future::pending::<u64>());
    /// let (sender, receiver) = source::channel(64);
    /// let run = p.from(receiver).to(sink::collect()).start()?;
    /// sender.send_all([7, 8, 9]).unwrap();
    /// let ended = run.drain_join(Duration::from_millis(10));
    /// assert_eq!(ended.failure, Some(RunError::DrainTimeout { left: 3 }));
    /// assert_eq!(ended.output, Some(vec![]));
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn drain_join(self, most: Duration) -> RunEnd<O> {
        self.started.ends().drain_within(most);
        self.join()
    }
}

impl RunStopper {
    /// Panics in a closure of the run, since the end of the run waits for it. A drained run does not wait for a source
    /// that has a thread of its own.
    pub(super) fn assert_outside(&self) {
        let Pool { shared, source_thread, .. } = &*self.pool;
        let in_stage = self.pool.is_here() || source_thread.is_this() && !shared.source_waits.are_here();
        assert!(
            self.pool.finished() || !in_stage,
            "a closure of a run waits for the end of that run, which waits for the closure"
        );
    }

    /// Waits for at most `most` until everything is done. Returns whether it is.
    pub(super) fn wait_until_finished(&self, most: Duration) -> bool {
        let deadline = Instant::now().checked_add(most);
        let signal = &self.pool.shared.signal;
        while !self.pool.finished() {
            let left = deadline.map_or(most, |deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                return false;
            }
            let ticket = signal.announce();
            if self.pool.finished() { signal.withdraw(ticket) } else { signal.park_timeout(ticket, left) }
        }
        true
    }
}

/// How many values were accepted and did not come out. If the output has the source's numbers, that is a difference;
/// after a stage that renumbers, it is the number of values left before all stages. `ended` says whether END was
/// accepted.
pub(crate) fn values_left(report: &Report, ended: bool, renumbered: bool) -> u64 {
    let end = u64::from(ended);
    let accepted = report.stages.first().map_or(0, |source| source.moved + source.left).saturating_sub(end);
    match accepted.saturating_sub(report.numbers_of_run()) {
        left if left > 0 && !renumbered => left,
        _ => left_before_stages(report).saturating_sub(end),
    }
}

fn left_before_stages(report: &Report) -> u64 {
    let mut left: Vec<(&str, u64)> = Vec::new();
    for stage in &report.stages {
        match left.last_mut() {
            // Tasklets of one stage have the same input.
            Some((name, most)) if *name == stage.name => *most = stage.left.max(*most),
            _ => left.push((&stage.name, stage.left)),
        }
    }
    left.into_iter().map(|(_, left)| left).sum()
}
