//! Draining within a time, and what is left where that does not do.

use super::{Handle, RunEnd, RunStopper, Stopper, Stops};
use crate::{Report, RunError};
use std::time::{Duration, Instant};

impl Stopper {
    /// As [`drain`](Stopper::drain), and waits until the run has finished: for so long at most, then it stops the run.
    /// True if it finished in time. Where it did not, whoever waits for the run gets a [`RunError::DrainTimeout`],
    /// which says how many accepted values were left.
    pub fn drain_within(&self, most: Duration) -> bool {
        self.0.drain_within(most)
    }
}

impl<S> Handle<S> {
    /// Ends the source where it is, also while it waits for a value, and finishes everything that was accepted. After
    /// `most` it stops instead.
    ///
    /// # Errors
    ///
    /// If a stage, the source or the sink failed. If something that was accepted was left when the time was over:
    /// [`RunError::DrainTimeout`] says how much. [`drain_join`](Handle::drain_join) gives the sink's state then as
    /// well.
    pub fn drain(self, most: Duration) -> Result<(S, Report), RunError> {
        self.drain_join(most).ok()
    }

    /// As [`drain`](Handle::drain), and gives what there is then, also if the time was over or the run failed: the
    /// sink's state and the report up to there.
    ///
    /// ```
    /// use millstream_core::{AsyncExt, pipeline};
    /// use millstream_exec::{Rings, Run, RunError};
    /// use std::time::Duration;
    /// let p = pipeline::<u64>().map_async(8, |_| std::future::pending::<u64>());
    /// let (sender, run) = p.start_fed(&Rings::new(), Vec::new(), |all, _, x| all.push(*x))?;
    /// sender.send_all([7, 8, 9]).unwrap();
    /// let ended = run.drain_join(Duration::from_millis(10));
    /// assert_eq!(ended.failure, Some(RunError::DrainTimeout { left: 3 }));
    /// assert_eq!(ended.state, Some(vec![]));
    /// # Ok::<(), RunError>(())
    /// ```
    #[must_use]
    pub fn drain_join(self, most: Duration) -> RunEnd<S> {
        self.started.ends().drain_within(most);
        self.join()
    }
}

impl RunStopper {
    /// Waits until everything is done, for so long at most; false if something is left to do.
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

/// How many values were accepted and did not come out. Where the output has the source's numbers that is a difference;
/// behind a stage that renumbers it is what was left in front of all stages. `ended` says whether END is among what was
/// accepted.
pub(crate) fn values_left(report: &Report, ended: bool, renumbered: bool) -> u64 {
    let end = u64::from(ended);
    let accepted = report.stages.first().map_or(0, |source| source.moved + source.left).saturating_sub(end);
    match accepted.saturating_sub(report.numbers.0) {
        left if left > 0 && !renumbered => left,
        _ => left_in_front_of_stages(report).saturating_sub(end),
    }
}

fn left_in_front_of_stages(report: &Report) -> u64 {
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
