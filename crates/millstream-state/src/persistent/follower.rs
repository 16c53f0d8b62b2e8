//! How far a run is that follows another process.

use super::{JobError, Running};
use crate::StateDir;
use crate::effects::Effects;
use crate::journal::{Journal, JournalOptions, once_released};
use crate::resumable::{At, Behind};
use millstream_core::SequenceNumber;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// The time between two looks at how far the stages are.
pub(super) const LOOK: Duration = Duration::from_millis(1);

/// A run that follows that of another process, and has changed nothing: the part that a [service](super::Following) and
/// [any other run](super::FollowingRun) have in common. Dropping it ends it.
pub struct Follower<O: Send + 'static> {
    // The source ends before the run that waits for it.
    pub(super) ends: Ends,
    pub(super) running: Running<O>,
    /// The goal of the wait, while one is under way.
    goal: Option<Goal>,
    /// The number that all stages have reached.
    reached: u64,
}

/// What the stages must reach.
enum Goal {
    /// The number that this look of the source finds.
    Look(u64),
    /// This number, and the number at which the next mark has passed all stages.
    Mark(u64, Receiver<u64>),
}

impl<O: Send + 'static> Follower<O> {
    pub(super) fn new(ends: Ends, running: Running<O>) -> Self {
        let reached = running.began();
        Follower { ends, running, goal: None, reached }
    }

    /// Waits, at most for this time, until all stages have reached the number up to which the journal was known to be
    /// durable at the first call, or at the first call after a `true`. Returns `false` if they have not, or if the
    /// follower is [over](Follower::check).
    pub fn catches_up(&mut self, within: Duration) -> bool {
        let since = Instant::now();
        loop {
            let left = within.saturating_sub(since.elapsed());
            let behind = &self.ends.0;
            match self.goal.get_or_insert_with(|| Goal::Look(behind.next_look())) {
                Goal::Look(look) => match behind.passed(*look, left.min(10 * LOOK)) {
                    Some(number) => self.goal = Some(Goal::Mark(number, self.marked())),
                    None if left.is_zero() || self.is_over() => return false,
                    None => {}
                },
                Goal::Mark(number, marked) => match marked.recv_timeout(left.min(10 * LOOK)) {
                    Ok(at) => {
                        self.reached = at;
                        if at >= *number {
                            self.goal = None;
                            return true;
                        }
                        self.goal = Some(Goal::Mark(*number, self.marked()));
                    }
                    Err(RecvTimeoutError::Timeout) if !left.is_zero() && !self.is_over() => {}
                    Err(_) => {
                        self.is_over();
                        return false;
                    }
                },
            }
        }
    }

    /// Receives the number of a mark, once that has passed all stages.
    fn marked(&self) -> Receiver<u64> {
        let (say, said) = sync_channel(1);
        let snapshotter = self.running.handle().snapshotter();
        let waits = move || snapshotter.cut().map(|(SequenceNumber(at), _)| say.send(at));
        // If no thread can be started, the follower does not catch up.
        drop(Builder::new().name("follows".to_owned()).spawn(waits));
        said
    }

    /// The number that all stages had reached at the last [`catches_up`](Follower::catches_up).
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    fn is_over(&self) -> bool {
        let handle = self.running.handle();
        if handle.failure().is_some() || handle.is_finished() {
            // A source that waits, or a stage that waits for an answer, does not see that another stage has failed.
            self.ends.over();
        }
        handle.is_finished()
    }

    /// Whether it still follows.
    ///
    /// # Errors
    ///
    /// If it is over: a stage has failed, or the next files are damaged, or gone
    /// ([`is_left_behind`](JobError::is_left_behind)). Then it can only be dropped.
    pub fn check(&self) -> Result<(), JobError> {
        if !self.is_over() {
            return Ok(());
        }
        let source = || self.running.source_failure().map(JobError::Source);
        let run = || self.running.handle().failure().map(JobError::Run);
        let ended = || JobError::Source(std::io::Error::other("it has ended"));
        Err(self.ends.lost().or_else(source).or_else(run).unwrap_or_else(ended))
    }
}

impl<O: Send + 'static> std::fmt::Debug for Follower<O> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Follower").field("reached", &self.reached).finish_non_exhaustive()
    }
}

/// Ends the source, unless that has the journal's writer, and the waiting of stages for the answers of effects.
pub(super) struct Ends(pub(super) Arc<Behind>, pub(super) Vec<Effects>);

impl Ends {
    pub(super) fn over(&self) {
        self.0.over();
        self.1.iter().for_each(Effects::over);
    }

    /// Why the effects have ended a follower, if they have.
    pub(super) fn lost(&self) -> Option<JobError> {
        self.1.iter().find_map(Effects::take_lost).map(JobError::Effects)
    }

    /// Gives the effects and the source the writers of their journals, which the other process releases. Returns the
    /// next number of the source's.
    pub(super) fn take_journal(&self, dir: &StateDir, journal: JournalOptions) -> Result<u64, JobError> {
        self.1.iter().try_for_each(|effects| effects.own(dir)).map_err(JobError::Effects)?;
        let At { next, place, .. } = self.0.place();
        let options = JournalOptions { at_least: next, ..journal };
        // If damage is skipped, the whole journal is read again.
        let place = place.filter(|_| !journal.skip_corrupt);
        let opened = once_released(|| {
            let (disk, path) = (dir.disk().clone(), dir.journal_dir());
            Journal::open_behind(disk, path, options, dir.epoch(), place.clone())
        });
        let (writer, _) = opened.map_err(|error| JobError::Source(std::io::Error::other(error)))?;
        let there = writer.next_number();
        self.0.give(writer);
        Ok(there)
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.over();
    }
}
