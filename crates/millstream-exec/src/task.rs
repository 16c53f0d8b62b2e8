mod broken;
mod cost;
mod limit;
mod step;
mod turns;

pub(crate) use limit::LONGEST;
pub(crate) use turns::looks_after;

use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::lock::try_lock;
use crate::report::StageReport;
use crate::shared::{FailedAt, Shared};
use crate::tasklet::Tasklet;
use crate::upgrade::shadow_state::ShadowState;
use crate::watched::{Role, Watched};
use crate::wiring::{Home, Named};
use millstream_core::Plan;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How many times a task's lock is tried before its tasklet counts as being in the middle of a step.
const LOOKS: u32 = 100;

/// A tasklet with its lock, its counters and its name.
pub(crate) struct Task {
    pub(crate) name: String,
    pub(crate) home: Home,
    /// Whether it is part of a `tee`. Such a tasklet finishes the input it has when the stream is cancelled.
    pub(crate) side_output: bool,
    /// Its place among all tasks that the run has had: upstream comes before downstream.
    pub(crate) order: usize,
    /// The clock of its input's numbers.
    clock: usize,
    /// Whether its output has another clock.
    renumbers: bool,
    /// The number with which it began: of its output, or of its input if it has none.
    first: u64,
    /// Whether the tasklets of its stage claim runs of its input. Those of other stages all pass every number.
    pub(crate) claims_runs: bool,
    /// The version beside the run's that it belongs to.
    pub(crate) shadow: Option<Arc<ShadowState>>,
    /// Set once its step or its drop has panicked.
    broken: AtomicBool,
    /// The feedback loop that it is part of.
    pub(crate) around: Option<usize>,
    occupant: Mutex<Option<Box<dyn Tasklet>>>,
    /// Whether its own thread was started.
    has_thread: AtomicBool,
    pub(crate) done: AtomicBool,
    /// Whether it takes nothing after the mark that it has passed. The holder of the lock stores it.
    retired: AtomicBool,
    /// Whether another task has taken its place. The holder of the lock stores it.
    replaced: AtomicBool,
    /// Numbers moved. Only the holder of the lock stores it; the other counters of this type, too.
    moved: AtomicU64,
    /// How many of them moved in steps of another task.
    elsewhere: AtomicU64,
    /// How many of them had moved when the pipeline was last changed.
    weighed_from: AtomicU64,
    /// Steps that moved something.
    pub(crate) steps: AtomicU64,
    timed_moved: AtomicU64,
    timed_ns: AtomicU64,
    pub(crate) longest_ns: AtomicU64,
    /// How long a step may take; none for a tasklet with a thread of its own.
    pub(crate) budget: Option<Duration>,
    pub(crate) overruns: AtomicU64,
    /// The most numbers of its next step.
    limit: limit::Limit,
    /// The stage in whose loop it is.
    pub(crate) fused_into: Option<String>,
    /// The number of keys it holds.
    pub(crate) keys: Option<Arc<AtomicU64>>,
    pub(crate) watched: Watched,
}

impl Task {
    pub(crate) fn new(
        Named { name, role, order, tasklet, home, side_output, around, fused_into, keys, calls, .. }: Named,
        clock: usize,
        budgets: Option<&Budgets>,
        plan: &Plan,
        passes: &Arc<MarkerPasses>,
    ) -> Self {
        let budget = budgets.filter(|_| home == Home::Workers).map(|budgets| budgets.of(&name));
        Task {
            watched: Watched::new(role, tasklet.probe(), calls, plan, passes),
            budget,
            fused_into,
            keys,
            overruns: AtomicU64::new(0),
            limit: limit::Limit::unknown(),
            name,
            home,
            side_output,
            order,
            clock,
            renumbers: role.renumbers(plan),
            first: tasklet.probe().at().unwrap_or(0),
            claims_runs: role.claims_runs(plan),
            shadow: None,
            broken: AtomicBool::new(false),
            around,
            occupant: Mutex::new(Some(tasklet)),
            has_thread: AtomicBool::new(false),
            done: AtomicBool::new(false),
            retired: AtomicBool::new(false),
            replaced: AtomicBool::new(false),
            moved: AtomicU64::new(0),
            elsewhere: AtomicU64::new(0),
            weighed_from: AtomicU64::new(0),
            steps: AtomicU64::new(0),
            timed_moved: AtomicU64::new(0),
            timed_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
        }
    }

    /// As a part of a version that runs beside the run's.
    pub(crate) fn in_shadow(self, state: Arc<ShadowState>) -> Self {
        Task { shadow: Some(state), ..self }
    }

    /// Whether it is to have a thread of its own that was not started yet. The caller starts it now.
    pub(crate) fn takes_thread(&self) -> bool {
        self.home == Home::Thread && !self.has_thread.swap(true, Ordering::Relaxed)
    }

    pub(crate) fn moved(&self) -> u64 {
        self.moved.load(Ordering::Relaxed)
    }

    /// The tasklet, at the end of the run. With `wait` this waits for a step in progress; without, it returns none if a
    /// step is in progress. Threads that only look at the tasklet hold the lock for a moment.
    fn lock_at_end(&self, wait: bool) -> Option<MutexGuard<'_, Option<Box<dyn Tasklet>>>> {
        if wait {
            return Some(self.occupant.lock().unwrap_or_else(PoisonError::into_inner));
        }
        (0..LOOKS).find_map(|_| {
            let occupant = self.try_lock();
            if occupant.is_none() {
                std::thread::yield_now();
            }
            occupant
        })
    }

    /// The tasklet, unless another thread holds the lock.
    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, Option<Box<dyn Tasklet>>>> {
        try_lock(&self.occupant)
    }

    /// Whether a step is in progress; none if the tasklet has ended.
    pub(crate) fn in_step(&self) -> Option<bool> {
        match self.try_lock() {
            Some(occupant) => occupant.is_some().then_some(false),
            None => Some(true),
        }
    }

    /// The numbers waiting in its input; none if another thread holds the lock or the tasklet has ended.
    pub(crate) fn backlog(&self) -> Option<u64> {
        Some(self.try_lock()?.as_ref()?.backlog())
    }

    /// Whether the version beside the run's that it belongs to is over. The run has nothing to do with it any more but
    /// to drop its tasklet, once that is not in a step.
    pub(crate) fn is_left_over(&self) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| shadow.is_over())
    }

    /// Whether its tasklet only drops the values of a source that has a thread of its own.
    pub(crate) fn is_sweeper(&self) -> bool {
        self.watched.role == Role::Source && self.watched.probe.output().is_none()
    }

    /// Whether the stream has ended downstream of this task.
    pub(crate) fn cancelled(&self, shared: &Shared) -> bool {
        self.order < shared.cancelled()
    }

    /// Drops the tasklet at the end of the run and returns the numbers that waited in its input. None if a step is in
    /// progress and `wait` is false.
    fn clear(&self, shared: &Shared, wait: bool) -> Option<u64> {
        let mut occupant = self.lock_at_end(wait)?;
        let left = occupant.as_ref().map_or(0, |tasklet| tasklet.backlog());
        let passed = occupant.as_mut().map_or(0, |tasklet| tasklet.passed_elsewhere());
        add(&self.moved, passed as u64);
        let broken = self.give_up(occupant.take(), shared);
        drop(occupant);
        broken.into_iter().for_each(|broken| broken.report(shared));
        Some(left)
    }

    /// Lets the tasklet go on after the mark at which it has retired.
    pub(crate) fn resume(&self) {
        let mut occupant = self.occupant.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at_marks) = occupant.as_mut().and_then(|tasklet| tasklet.at_marks()) {
            at_marks.resume();
        }
        self.retired.store(false, Ordering::Relaxed);
    }

    /// The tasklet takes no further step, whatever happens: another takes its place.
    pub(crate) fn replace(&self) {
        let _occupant = self.occupant.lock().unwrap_or_else(PoisonError::into_inner);
        self.replaced.store(true, Ordering::Relaxed);
    }

    fn is_replaced(&self) -> bool {
        self.replaced.load(Ordering::Relaxed)
    }

    /// The tasklet, under its lock.
    pub(crate) fn occupant(&self) -> MutexGuard<'_, Option<Box<dyn Tasklet>>> {
        self.occupant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The tasklet that has retired, which another task goes on with.
    pub(crate) fn leave(&self) -> Option<Box<dyn Tasklet>> {
        self.occupant.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// The report of its work, and the input it has left. Drops the tasklet, unless a step is in progress and `wait` is
    /// false.
    pub(crate) fn report(&self, shared: &Shared, wait: bool) -> StageReport {
        let empties = self.watched.probe.empties();
        let left = self.clear(shared, wait).unwrap_or(0);
        let calls = self.watched.calls.as_ref();
        StageReport {
            name: self.name.clone(),
            moved: self.moved(),
            steps: self.steps.load(Ordering::Relaxed),
            left,
            ns_per_number: self.cost(),
            longest_step: Duration::from_nanos(self.longest_ns.load(Ordering::Relaxed)),
            budget: self.budget,
            overruns: self.overruns.load(Ordering::Relaxed),
            blocking: self.home == Home::Thread,
            fused_into: self.fused_into.clone(),
            keys: self.keys.as_ref().map(|keys| keys.load(Ordering::Relaxed)),
            state_bytes: self.watched.probe.state_bytes(),
            failures: calls.map_or(0, |calls| calls.failures()),
            retries: calls.map_or(0, |calls| calls.retries()),
            parked: calls.map_or(0, |calls| calls.parked()),
            looked_at: empties.looked_at,
            empties: empties.empty,
            batches: self.watched.batches(),
            is_end: matches!(self.watched.role, Role::Source | Role::Sink),
        }
    }

    /// Whether it takes nothing after a mark that it has passed.
    pub(crate) fn has_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    /// Whether it has panicked.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }

    /// Whether it may have something to do for numbers before this failure.
    pub(crate) fn has_rest(&self, failed: FailedAt) -> bool {
        let left = match self.clock.cmp(&failed.clock()) {
            std::cmp::Ordering::Less => false,
            std::cmp::Ordering::Equal => self.renumbers || !self.watched.probe.is_at(failed.number()),
            std::cmp::Ordering::Greater => true,
        };
        left && self.watched.role != Role::Source && !self.done.load(Ordering::Relaxed) && !self.has_retired()
    }
}

/// Adds to a counter that only the holder of the lock stores.
fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}
