//! Values before a failure are delivered first, if the program takes the output one by one (`Through`, a stream).
//!
//! The failing stage publishes the outputs that it had written of its batch. When all threads have left their last
//! step, the last of them steps the downstream stages until nothing is left to do. A source's thread, or one that sends
//! batches, counts among them while it runs the stages. END is not published, so no stage writes outputs that come only
//! at END.

use super::Pool;
use super::roster::Roster;
use crate::shared::FailedAt;
use crate::task::Task;
use crate::watched::Role;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// While it lives, a thread that the pool has not started counts as one at work: it may be in a step when the others
/// leave.
pub(crate) struct Helping<'p>(&'p Pool);

impl<'p> Helping<'p> {
    /// None if all threads at work have left, or none has begun.
    pub(crate) fn of(pool: &'p Pool) -> Option<Self> {
        let one_more = |working: usize| (working > 0).then(|| working + 1);
        let joins = pool.working.fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_more);
        joins.is_ok().then_some(Helping(pool))
    }
}

impl Drop for Helping<'_> {
    fn drop(&mut self) {
        let pool = self.0;
        if pool.leave_work() {
            pool.shared.signal.notify();
        }
        // The threads of the run may have left while this one was in a step.
        if pool.is_abandoned() && pool.has_left() {
            pool.clear();
        }
    }
}

impl Pool {
    /// Called when a thread has done its work. Returns whether it was the last one.
    pub(super) fn leave_work(&self) -> bool {
        let last = self.working.fetch_sub(1, Ordering::SeqCst) == 1;
        if last {
            self.deliver_rest();
            self.note_end();
            self.shared.end_rest();
        }
        last
    }

    /// Notes that no thread does anything for the run any more.
    pub(crate) fn note_end(&self) {
        self.ended.get_or_init(Instant::now);
    }

    /// After a failure, the last thread of the run takes the remaining steps. It waits for the consumer of the output
    /// and for futures. It returns when nothing is left or the consumer is gone.
    pub(super) fn deliver_rest(&self) {
        let signal = &self.shared.signal;
        while let Some(failed) = self.shared.failed_at()
            && self.shared.wants_rest()
        {
            let ticket = signal.announce();
            // Collected before the round: a tasklet that stops waiting meanwhile has a step to take in the next round.
            let waits = rest_of(&self.roster(), failed).any(|task| task.watched.probe.waits());
            let moved = self.rest_round(failed);
            if waits && !moved && self.shared.wants_rest() {
                signal.park(ticket);
                continue;
            }
            signal.withdraw(ticket);
            if !moved {
                break;
            }
            signal.notify();
        }
    }

    /// Steps every tasklet that may have work left. Returns whether any did something.
    fn rest_round(&self, failed: FailedAt) -> bool {
        let mut moved = false;
        for task in rest_of(&self.roster(), failed) {
            let Some(progress) = task.step_again(&self.shared) else { continue };
            task.done.fetch_or(progress.done, Ordering::Release);
            moved |= progress.moved > 0 || progress.worked || progress.done;
        }
        moved
    }
}

/// The tasklets that may have work left: all but the one that failed and the stages it reads. Of a stage whose tasklets
/// claim runs of numbers none goes on: it would claim numbers behind the run that has failed.
fn rest_of(roster: &Roster, failed: FailedAt) -> impl Iterator<Item = &Task> {
    let broken: Vec<Role> = roster.tasks.iter().filter(|task| task.is_broken()).map(|task| task.watched.role).collect();
    let is_broken = move |task: &Task| task.is_broken() || task.claims_runs && broken.contains(&task.watched.role);
    let left = move |task: &&Task| task.has_rest(failed) && !is_broken(task);
    roster.tasks.iter().map(|task| &**task).filter(left)
}
