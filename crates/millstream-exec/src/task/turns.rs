//! Many turns of a feedback loop's tasks under one set of locks.
//!
//! One number at a time passes through a loop, so a step moves one number, and the overhead of a step is paid for every
//! number: a lock, a catch for panics, a look at marks and markers, the counters. Here all of that is paid once for
//! many turns. No step is timed. When something is under way that concerns single steps, as a mark or the end of the
//! stream downstream, the caller steps the tasks one by one.

use super::{Task, add};
use crate::shared::Shared;
use crate::tasklet::{Progress, Tasklet};
use millstream_core::failure::caught;
use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

/// The most tasks of a loop that takes many turns at once: their locks need no allocation.
const MOST: usize = 8;

/// A task's tasklet, unless it has ended, under the task's lock.
type Occupant<'a> = MutexGuard<'a, Option<Box<dyn Tasklet>>>;

/// The result of many turns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Turns {
    /// How many numbers moved; at least 1 if anything was done.
    pub(crate) moved: usize,
    /// The task that is done since.
    pub(crate) done: Option<usize>,
}

/// The work of one task.
#[derive(Clone, Copy, Default)]
struct Moved {
    numbers: u64,
    steps: u64,
}

/// The work of all tasks, even if one has panicked.
#[derive(Default)]
struct Sum {
    of: [Moved; MOST],
    total: usize,
    worked: bool,
    /// The index of the task whose step is in progress.
    at: usize,
    done: bool,
}

impl Task {
    /// Steps these of the tasks in turn, at most `most` times each, until a turn moves nothing, one of them is done, or
    /// this time is over. Does nothing and returns `None` if their steps must be taken one by one, or if another thread
    /// holds a lock.
    pub(crate) fn turns(
        tasks: &[Arc<Task>],
        indices: &[usize],
        most: usize,
        until: Instant,
        shared: &Shared,
    ) -> Option<Turns> {
        let count = indices.len();
        if count > MOST {
            return None;
        }
        let mut occupants: [Option<Occupant<'_>>; MOST] = [const { None }; MOST];
        for (occupant, index) in occupants.iter_mut().zip(indices) {
            *occupant = Some(tasks[*index].try_lock()?);
        }
        let alone = |task: &Task| task.has_retired() || task.done.load(Ordering::Relaxed);
        if !takes_many(shared) || indices.iter().any(|index| alone(&tasks[*index])) {
            return None;
        }
        let mut sum = Sum::default();
        let outcome = {
            let mut tasklets: [Option<&mut dyn Tasklet>; MOST] = [const { None }; MOST];
            for (tasklet, occupant) in tasklets.iter_mut().zip(occupants[..count].iter_mut().flatten()) {
                *tasklet = Some(&mut **occupant.as_mut()?);
            }
            caught(|| sum.take(&mut tasklets[..count], most, until, shared))
        };
        let task = &*tasks[indices[sum.at]];
        let mut occupant = occupants[sum.at].take()?;
        for (index, moved) in indices.iter().zip(&sum.of).filter(|(_, moved)| moved.steps > 0) {
            add(&tasks[*index].moved, moved.numbers);
            add(&tasks[*index].steps, moved.steps);
        }
        let (progress, broken) = match (outcome, occupant.as_mut()) {
            (Err(payload), Some(tasklet)) => task.panicked(shared, &mut **tasklet, payload),
            _ => (Progress { done: sum.done, ..Progress::NONE }, None),
        };
        // Dropping the tasklet drops its gates, which frees its upstream.
        let given_up = if progress.done { task.give_up(occupant.take(), shared) } else { None };
        add(&task.moved, progress.moved as u64);
        drop((occupant, occupants));
        let told = if sum.worked { caught(|| shared.marks.tell(shared)) } else { Ok(()) };
        let told = told.err().map(|payload| task.broken(shared, None, payload));
        if sum.total > 0 || sum.worked {
            shared.moves.note(sum.total > 0);
        }
        if sum.total > 0 {
            shared.signal.notify_early();
        }
        let done = progress.done.then_some(indices[sum.at]);
        broken.into_iter().chain(given_up).chain(told).for_each(|broken| broken.report(shared));
        Some(Turns { moved: sum.total.max(usize::from(sum.worked || progress.done)), done })
    }
}

/// Whether nothing is under way that concerns single steps.
fn takes_many(shared: &Shared) -> bool {
    !shared.stopped() && !shared.marks.under_way() && shared.cancelled() == 0 && !shared.markers.on()
}

/// Whether the clock is read after this turn: a turn of cheap stages costs some ten times as much as a look, and a turn
/// of dear ones may take long.
pub(crate) fn looks_after(turn: usize) -> bool {
    const LOOKS: usize = 16;
    (turn + 1).is_power_of_two() || (turn + 1).is_multiple_of(LOOKS)
}

impl Sum {
    fn take(&mut self, tasklets: &mut [Option<&mut dyn Tasklet>], most: usize, until: Instant, shared: &Shared) {
        for turn in 0..most {
            let mut moves = false;
            for (at, tasklet) in tasklets.iter_mut().flatten().enumerate() {
                self.at = at;
                let progress = tasklet.step(usize::MAX);
                let elsewhere = if progress.elsewhere { tasklet.passed_elsewhere() } else { 0 };
                let passed = progress.moved + elsewhere;
                if passed > 0 {
                    self.of[at].numbers += passed as u64;
                    self.of[at].steps += 1;
                    self.total += progress.moved;
                }
                moves |= progress.moved > 0 || progress.worked;
                self.worked |= progress.worked;
                if progress.done {
                    self.done = true;
                    return;
                }
            }
            if !moves || !takes_many(shared) || looks_after(turn) && Instant::now() >= until {
                return;
            }
        }
    }
}
