//! Values before a failure are delivered first, where the output is taken one by one (`Through`, a stream).
//!
//! The failing stage publishes what it had written of its batch. When all threads have left their last step, the last
//! of them steps the stages downstream until nothing is left to do. END is not published, so no stage writes what it
//! would write only at END.

use super::Pool;
use crate::shared::FailedAt;
use crate::task::Task;
use crate::watched::Role;
use std::sync::atomic::Ordering;

impl Pool {
    /// Does what is left, step by step, in the last thread of a run that has failed. It waits for whoever takes the output,
    /// and for futures, and ends when nothing is left or nobody wants it.
    pub(super) fn deliver_rest(&self) {
        let signal = &self.shared.signal;
        while let Some(failed) = self.shared.failed_at()
            && self.shared.wants_rest()
        {
            let ticket = signal.announce();
            // Looked at before the round: who has to wait then, and not any more, has something to do in the next one.
            let waits = self.rest_of(failed).any(|task| task.watched.probe.waits());
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

    /// A step of everybody who may have something left to do; whether anything was done.
    fn rest_round(&self, failed: FailedAt) -> bool {
        let mut moved = false;
        for task in self.rest_of(failed) {
            let Some(progress) = task.step_again(&self.shared) else { continue };
            task.done.fetch_or(progress.done, Ordering::Release);
            moved |= progress.moved > 0 || progress.worked || progress.done;
        }
        moved
    }

    /// Who may have something left to do: not the stage that has failed, nor what it reads.
    fn rest_of(&self, failed: FailedAt) -> impl Iterator<Item = &Task> {
        let broken: Vec<Role> =
            self.tasks.iter().filter(|task| task.is_broken()).map(|task| task.watched.role).collect();
        let left = move |task: &&Task| task.has_rest(failed) && !broken.contains(&task.watched.role);
        self.tasks.iter().filter(left)
    }
}
