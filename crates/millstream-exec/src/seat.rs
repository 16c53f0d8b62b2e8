use crate::budget::Budgets;
use crate::shared::Shared;
use crate::tasklet::{Progress, Tasklet};
use crate::watched::Watched;
use crate::wiring::{Home, Named};
use millstream_core::Plan;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

/// A tasklet's place in the pool.
pub(crate) struct Seat {
    pub(crate) name: String,
    pub(crate) home: Home,
    /// Whether nobody waits for what it does: it stands in a `tee`.
    pub(crate) aside: bool,
    pub(crate) index: usize,
    /// The seats of the feedback loop that it is in, or itself.
    pub(crate) around: Range<usize>,
    occupant: Mutex<Option<Box<dyn Tasklet>>>,
    pub(crate) done: AtomicBool,
    /// Numbers moved. Only whoever holds the lock stores it, and so with those behind it.
    moved: AtomicU64,
    /// Steps in which something moved.
    pub(crate) steps: AtomicU64,
    timed_moved: AtomicU64,
    timed_ns: AtomicU64,
    pub(crate) longest_ns: AtomicU64,
    /// How long a step may take, unless it has a thread of its own.
    pub(crate) budget: Option<Duration>,
    pub(crate) overruns: AtomicU64,
    /// How many keys it has.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    pub(crate) watched: Watched,
}

impl Seat {
    pub(crate) fn new(
        index: usize,
        Named { name, role, tasklet, home, aside, keys, calls, .. }: Named,
        around: Range<usize>,
        budgets: Option<&Budgets>,
        plan: &Plan,
    ) -> Self {
        let budget = budgets.filter(|_| home == Home::Workers).map(|budgets| budgets.of(&name));
        Seat {
            watched: Watched::new(role, tasklet.gauges(), calls, plan),
            budget,
            keys,
            overruns: AtomicU64::new(0),
            name,
            home,
            aside,
            index,
            around,
            occupant: Mutex::new(Some(tasklet)),
            done: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            timed_moved: AtomicU64::new(0),
            timed_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
        }
    }

    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// How many numbers were moved in steps that were timed, and how many nanoseconds those took.
    pub(crate) fn timed(&self) -> (u64, u64) {
        (self.timed_moved.load(Ordering::Relaxed), self.timed_ns.load(Ordering::Relaxed))
    }

    /// Nanoseconds a number, by the steps that were timed.
    pub(crate) fn cost(&self) -> Option<f64> {
        let moved = self.timed_moved.load(Ordering::Relaxed);
        (moved > 0).then(|| self.timed_ns.load(Ordering::Relaxed) as f64 / moved as f64)
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Tasklet>>> {
        self.occupant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasklet, unless somebody else is at it.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<Box<dyn Tasklet>>>> {
        match self.occupant.try_lock() {
            Ok(occupant) => Some(occupant),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Whether somebody is in the middle of a step here; none if the tasklet has come to its end.
    pub(crate) fn in_step(&self) -> Option<bool> {
        match self.try_lock() {
            Some(occupant) => occupant.is_some().then_some(false),
            None => Some(true),
        }
    }

    /// How many numbers wait here, unless somebody else is at it or it has ended.
    pub(crate) fn backlog(&self) -> Option<u64> {
        Some(self.try_lock()?.as_ref()?.backlog())
    }

    /// Whether the stream has ended behind this seat.
    pub(crate) fn cancelled(&self, shared: &Shared) -> bool {
        self.index < shared.cancelled()
    }

    /// Gives a cancelled tasklet up, unless somebody else is at it.
    pub(crate) fn cancel(&self, shared: &Shared) -> Option<Progress> {
        let mut occupant = self.try_lock()?;
        self.give_up(occupant.take(), shared);
        Some(Progress::DONE)
    }

    /// One step, unless somebody else is at it. If there is a clock, it tells when the step begins, and
    /// then when it has ended.
    pub(crate) fn step(&self, shared: &Shared, clock: &mut Option<Instant>) -> Option<Progress> {
        let mut occupant = self.try_lock()?;
        // Looked at under the lock: a tasklet that has panicked must not go on.
        if shared.stopped() {
            return Some(Progress::NONE);
        }
        let Some(tasklet) = occupant.as_mut() else { return Some(Progress::NONE) };
        let progress = match catch_unwind(AssertUnwindSafe(|| tasklet.step())) {
            Ok(progress) => progress,
            // Behind the end of the stream.
            Err(_) if self.cancelled(shared) && !self.aside => Progress::DONE,
            Err(payload) => {
                shared.fail(&self.name, tasklet.failed_at(), payload.as_ref());
                Progress::NONE
            }
        };
        if let Some(begun) = clock {
            let ended = Instant::now();
            self.time(progress.moved as u64, ended.duration_since(*begun));
            *begun = ended;
        }
        if progress.moved > 0 {
            add(&self.moved, progress.moved as u64);
            add(&self.steps, 1);
            // Whoever waits for what this step did need not wait for the round.
            shared.signal.notify_early();
        }
        if shared.notes.on() {
            self.watched.stepped(progress.moved, &shared.notes);
        }
        if progress.done {
            // Its readers' gates go with it.
            self.give_up(occupant.take(), shared);
        }
        Some(progress)
    }

    /// Drops a tasklet, and with it the user's values and closures, which may panic.
    pub(crate) fn give_up(&self, tasklet: Option<Box<dyn Tasklet>>, shared: &Shared) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(tasklet))) {
            shared.fail(&self.name, None, payload.as_ref());
        }
    }

    fn time(&self, moved: u64, took: Duration) {
        let ns = took.as_nanos() as u64;
        // A step that moves nothing is no part of what a number costs; it can take long all the same, by a drop of the
        // user's values.
        if moved > 0 {
            add(&self.timed_moved, moved);
            add(&self.timed_ns, ns);
        }
        if self.budget.is_some_and(|budget| took > budget) {
            add(&self.overruns, 1);
        }
        if ns > self.longest_ns.load(Ordering::Relaxed) {
            self.longest_ns.store(ns, Ordering::Relaxed);
        }
    }
}

/// Adds to a counter that only the holder of a lock stores.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}
