//! A step of a task, and how its tasklet ends.
//!
//! A step may move a single number. So what happens seldom, such as a panic, a mark or the end of a stream, is apart
//! from the way that every step takes.

use super::broken::Broken;
use super::{Task, add};
use crate::marks::Passer;
use crate::pause::GivenUp;
use crate::shared::{Payload, Shared};
use crate::tasklet::{Progress, Tasklet};
use crate::upgrade::shadow_end::ShadowEnd;
use crate::watched::Role;
use millstream_core::SequenceNumber;
use millstream_core::failure::{caught, message};
use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::Instant;

/// A task's tasklet, unless it has ended, under the task's lock.
type Occupant<'a> = MutexGuard<'a, Option<Box<dyn Tasklet>>>;

impl Task {
    /// Drops a cancelled tasklet, unless another thread holds the lock.
    pub(crate) fn cancel(&self, shared: &Shared) -> Option<Progress> {
        let mut occupant = self.try_lock()?;
        let broken = self.give_up(occupant.take(), shared);
        drop(occupant);
        broken.into_iter().for_each(|broken| broken.report(shared));
        Some(Progress::DONE)
    }

    /// One step, unless another thread holds the lock. `clock`, if any, holds the time at which the step begins, and
    /// afterwards the time at which it ended.
    pub(crate) fn step(&self, shared: &Shared, clock: &mut Option<Instant>) -> Option<Progress> {
        self.step_unless(|| shared.stopped(), shared, clock)
    }

    /// As [`step`](Task::step), in a run that a failure has stopped.
    pub(crate) fn step_again(&self, shared: &Shared) -> Option<Progress> {
        self.step_unless(|| self.is_broken(), shared, &mut None)
    }

    #[inline]
    fn step_unless(
        &self,
        stopped: impl FnOnce() -> bool,
        shared: &Shared,
        clock: &mut Option<Instant>,
    ) -> Option<Progress> {
        let mut occupant = self.try_lock()?;
        // Checked under the lock: a tasklet that has panicked must not be stepped again.
        if stopped() {
            return Some(Progress::NONE);
        }
        if self.is_left_over() && occupant.is_some() {
            return Some(self.end_of_shadow(occupant, shared));
        }
        let Some(tasklet) = occupant.as_mut() else { return Some(Progress::NONE) };
        if self.has_retired() && !self.goes_on(&mut **tasklet, shared) {
            return Some(Progress::NONE);
        }
        let most = self.limit.most();
        let begun = (most == 1 && clock.is_none()).then(Instant::now);
        let step = || {
            let mut progress = tasklet.step(most);
            if shared.marks.under_way() && !progress.done {
                progress.worked |= self.pass_marks(&mut **tasklet, shared);
            }
            progress
        };
        let progress = match caught(step) {
            Ok(progress) => progress,
            Err(payload) => return Some(self.broken_step(occupant, shared, clock, payload)),
        };
        self.count(progress, &mut **tasklet, shared, clock);
        if let Some(begun) = begun {
            self.limit.note(progress.moved, begun.elapsed());
        }
        if progress.done || progress.worked {
            return Some(self.finish_step(occupant, progress, None, shared));
        }
        drop(occupant);
        if progress.moved > 0 {
            // Wakes consumers of this step's output without waiting for the end of the round.
            shared.signal.notify_early();
        }
        Some(progress)
    }

    /// Lets the tasklet pause, unless another thread holds the lock, or the run is stopped. Returns its progress if it
    /// has failed.
    pub(crate) fn pause(&self, shared: &Shared) -> Option<Progress> {
        let mut occupant = self.try_lock()?;
        if shared.stopped() || self.is_left_over() {
            return None;
        }
        let tasklet = occupant.as_mut()?;
        let failure = caught(|| tasklet.pause()).err()?;
        Some(self.broken_step(occupant, shared, &mut None, failure))
    }

    /// Counts what a step moved, and how long it took.
    #[inline]
    fn count(&self, progress: Progress, tasklet: &mut dyn Tasklet, shared: &Shared, clock: &mut Option<Instant>) {
        if let Some(begun) = clock {
            let ended = Instant::now();
            let timed = if progress.untimed { 0 } else { progress.moved };
            let took = ended.duration_since(*begun);
            self.time(timed as u64, took);
            if !progress.untimed {
                self.limit.note(progress.moved, took);
            }
            *begun = ended;
        }
        let elsewhere = if progress.elsewhere { tasklet.passed_elsewhere() } else { 0 };
        let passed = progress.moved + elsewhere;
        if passed > 0 {
            add(&self.moved, passed as u64);
            let elsewhere = if progress.untimed { passed } else { elsewhere };
            if elsewhere > 0 {
                add(&self.elsewhere, elsewhere as u64);
            }
            add(&self.steps, 1);
        }
        if (passed > 0 || progress.worked) && self.watched.role != Role::Source {
            shared.moves.note(passed > 0);
        }
        if shared.markers.on() {
            self.watched.stepped(passed, &shared.markers);
        }
    }

    /// Passes the marks that the tasklet has reached. Returns whether there were any.
    #[cold]
    fn pass_marks(&self, tasklet: &mut dyn Tasklet, shared: &Shared) -> bool {
        let beside = self.shadow.as_ref();
        let passer = Passer { task: self.order, name: &self.name, role: self.watched.role, beside };
        let passed = shared.marks.pass(passer, tasklet, shared.cancelled() > 0);
        self.retired.store(passed.retires, Ordering::Relaxed);
        passed.any
    }

    /// Whether a tasklet that has retired goes on, since the stream has ended before the mark: no other version begins
    /// there.
    #[cold]
    fn goes_on(&self, tasklet: &mut dyn Tasklet, shared: &Shared) -> bool {
        if shared.cancelled() == 0 || self.is_replaced() {
            return false;
        }
        tasklet.at_marks().into_iter().for_each(|at_marks| at_marks.resume());
        self.retired.store(false, Ordering::Relaxed);
        true
    }

    /// Ends a tasklet of a version whose trial is over.
    #[cold]
    fn end_of_shadow(&self, mut occupant: Occupant<'_>, shared: &Shared) -> Progress {
        let broken = self.give_up(occupant.take(), shared);
        drop(occupant);
        broken.into_iter().for_each(|broken| broken.report(shared));
        // A thread outside the run may have ended it.
        let told = caught(|| shared.marks.tell(shared)).err().map(|payload| self.broken(shared, None, payload));
        told.into_iter().for_each(|broken| broken.report(shared));
        Progress::DONE
    }

    /// Ends a step that has panicked.
    #[cold]
    fn broken_step(
        &self,
        mut occupant: Occupant<'_>,
        shared: &Shared,
        clock: &mut Option<Instant>,
        payload: Payload,
    ) -> Progress {
        let Some(tasklet) = occupant.as_mut() else { return Progress::NONE };
        let (progress, broken) = self.panicked(shared, &mut **tasklet, payload);
        self.count(progress, &mut **tasklet, shared, clock);
        self.finish_step(occupant, progress, broken, shared)
    }

    /// Ends a step that was more than progress, or that has panicked.
    #[inline(never)]
    fn finish_step(
        &self,
        mut occupant: Occupant<'_>,
        progress: Progress,
        broken: Option<Broken>,
        shared: &Shared,
    ) -> Progress {
        // Dropping the tasklet drops its gates, which frees its upstream.
        let given_up = if progress.done { self.give_up(occupant.take(), shared) } else { None };
        drop(occupant);
        let told = if progress.worked { caught(|| shared.marks.tell(shared)) } else { Ok(()) };
        let told = told.err().map(|payload| self.broken(shared, None, payload));
        if progress.done || progress.worked {
            // The end of an input, or a mark.
            shared.signal.notify();
        }
        broken.into_iter().chain(given_up).chain(told).for_each(|broken| broken.report(shared));
        progress
    }

    /// Handles a panic in a step.
    pub(super) fn panicked(
        &self,
        shared: &Shared,
        tasklet: &mut dyn Tasklet,
        payload: Payload,
    ) -> (Progress, Option<Broken>) {
        if self.cancelled(shared) && !self.side_output {
            // The stream has ended downstream; nothing reads this tasklet's output.
            return (Progress::DONE, Some(Broken::ignored(payload)));
        }
        if payload.is::<GivenUp>() {
            // Of a version that is over, the next step drops the tasklet.
            let progress = if self.is_left_over() { Progress::WORKED } else { Progress::NONE };
            return (progress, None);
        }
        if let Some(shadow) = &self.shadow {
            let stage = tasklet.failed_in().unwrap_or(&self.name).to_owned();
            let number = tasklet.failed_at().map(SequenceNumber);
            let cause = message(payload.as_ref());
            shared.marks.end_shadow(shadow, ShadowEnd::Failed { stage, number, cause });
            return (Progress { worked: true, ..Progress::DONE }, Some(Broken::ignored(payload)));
        }
        let stage = tasklet.failed_in().unwrap_or(&self.name);
        let clock = tasklet.failed_on().unwrap_or(self.clock);
        let broken = self.broken_in((stage, clock), shared, tasklet.failed_at(), payload);
        (Progress::moved(self.uncounted(tasklet)), Some(broken))
    }

    /// How many numbers it had moved in a step that has panicked. Those that it has published come out, and stages
    /// after it count them. One that claims runs has published none of the run at which it failed.
    #[cold]
    fn uncounted(&self, tasklet: &mut dyn Tasklet) -> usize {
        if self.claims_runs {
            return 0;
        }
        // Also counted when the tasklet is dropped.
        add(&self.moved, tasklet.passed_elsewhere() as u64);
        let probe = &self.watched.probe;
        let at = if probe.output().is_some() { probe.at() } else { tasklet.failed_at() };
        at.map_or(0, |at| at.saturating_sub(self.first).saturating_sub(self.moved()) as usize)
    }

    /// Drops a tasklet, and with it the user's values and closures. If one of them panics, the caller
    /// [reports](Broken::report) the result. That is no failure of the run if the tasklet is of a version beside it.
    pub(super) fn give_up(&self, tasklet: Option<Box<dyn Tasklet>>, shared: &Shared) -> Option<Broken> {
        let payload = caught(|| drop(tasklet)).err()?;
        Some(if self.shadow.is_some() { Broken::ignored(payload) } else { self.broken(shared, None, payload) })
    }
}
