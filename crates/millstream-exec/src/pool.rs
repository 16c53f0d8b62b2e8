//! The tasklets of a run, and who runs which of them: worker i runs the i-th contiguous group.
//!
//! A tasklet stays where it is; what moves is the cut between two groups. Whoever steps a tasklet holds its lock, so a
//! cut can be moved at any time, and the tasklet goes over between two steps.

use crate::budget::Budgets;
use crate::machine::Pins;
use crate::placement::{Controller, cut_evenly};
use crate::report::StageReport;
use crate::shared::Shared;
use crate::tasklet::{Progress, Tasklet};
use crate::wiring::{Home, Named};
use crate::worker::{work, work_alone};
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
    seats: Vec<Seat>,
    /// The seats that workers share; the others have a thread each.
    cooperative: Vec<usize>,
    /// Where the groups are cut: worker i runs `cuts[i]..cuts[i + 1]` of the cooperative seats.
    cuts: Mutex<Vec<usize>>,
    /// Changes with the cuts.
    version: AtomicU64,
    /// Tasklets that are not done.
    left: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    started_threads: AtomicUsize,
    pub(crate) controller: Mutex<Controller>,
    pub(crate) pins: Option<Pins>,
    /// Whether every step is timed.
    pub(crate) exact: bool,
}

/// A tasklet's place in the pool.
pub(crate) struct Seat {
    pub(crate) name: String,
    home: Home,
    /// Whether nobody waits for what it does: it stands in a `tee`.
    aside: bool,
    index: usize,
    occupant: Mutex<Option<Box<dyn Tasklet>>>,
    done: AtomicBool,
    /// Numbers moved. Only whoever holds the lock stores it, and so with those behind it.
    moved: AtomicU64,
    /// Steps in which something moved.
    steps: AtomicU64,
    timed_moved: AtomicU64,
    timed_ns: AtomicU64,
    longest_ns: AtomicU64,
    /// How long a step may take, unless it has a thread of its own.
    budget: Option<Duration>,
    overruns: AtomicU64,
}

impl Seat {
    fn new(index: usize, Named { name, tasklet, home, aside }: Named, budgets: Option<&Budgets>) -> Self {
        let budget = budgets.filter(|_| home == Home::Workers).map(|budgets| budgets.of(&name));
        Seat {
            budget,
            overruns: AtomicU64::new(0),
            name,
            home,
            aside,
            index,
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

    /// Nanoseconds a number, by the steps that were timed.
    pub(crate) fn cost(&self) -> Option<f64> {
        let moved = self.timed_moved.load(Ordering::Relaxed);
        (moved > 0).then(|| self.timed_ns.load(Ordering::Relaxed) as f64 / moved as f64)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Box<dyn Tasklet>>> {
        self.occupant.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the stream has ended behind this seat.
    fn cancelled(&self, shared: &Shared) -> bool {
        self.index < shared.cancelled()
    }

    /// Gives a cancelled tasklet up, unless somebody else is at it. One that stands aside first does what there is to
    /// do.
    fn cancel(&self, shared: &Shared, alone: bool) -> Option<Progress> {
        let mut occupant = match self.occupant.try_lock() {
            Ok(occupant) => occupant,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
        let busy = self.aside && !(alone && occupant.as_ref().is_none_or(|tasklet| tasklet.backlog() == 0));
        if busy {
            return Some(Progress::NONE);
        }
        self.give_up(occupant.take(), shared);
        Some(Progress::DONE)
    }

    /// One step, unless somebody else is at it. If there is a clock, it tells when the step begins, and
    /// then when it has ended.
    fn step(&self, shared: &Shared, clock: &mut Option<Instant>) -> Option<Progress> {
        let mut occupant = match self.occupant.try_lock() {
            Ok(occupant) => occupant,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return None,
        };
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
        if progress.done {
            // Its readers' gates go with it.
            self.give_up(occupant.take(), shared);
        }
        Some(progress)
    }

    /// Drops a tasklet, and with it the user's values and closures, which may panic.
    fn give_up(&self, tasklet: Option<Box<dyn Tasklet>>, shared: &Shared) {
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

impl Pool {
    /// A pool of tasklets; of one that runs on the calling thread there are no budgets.
    pub(crate) fn new(
        tasklets: Vec<Named>,
        shared: Arc<Shared>,
        controller: Controller,
        pins: Option<Pins>,
        budgets: Option<&Budgets>,
    ) -> Arc<Self> {
        let seats = tasklets.into_iter().enumerate().map(|(index, tasklet)| Seat::new(index, tasklet, budgets));
        let seats: Vec<Seat> = seats.collect();
        let cooperative: Vec<usize> = (0..seats.len()).filter(|i| seats[*i].home == Home::Workers).collect();
        let (count, workers) = (seats.len(), controller.workers());
        let mut cuts = Vec::new();
        cut_evenly(cooperative.len(), workers, &mut cuts);
        Arc::new(Pool {
            shared,
            cuts: Mutex::new(cuts),
            seats,
            cooperative,
            version: AtomicU64::new(0),
            left: AtomicUsize::new(count),
            threads: Mutex::new(Vec::new()),
            started_threads: AtomicUsize::new(0),
            controller: Mutex::new(controller),
            pins,
            exact: budgets.is_some_and(Budgets::are_set),
        })
    }

    pub(crate) fn seats(&self) -> &[Seat] {
        &self.seats
    }

    /// The seats that workers share, in pipeline order.
    pub(crate) fn cooperative(&self) -> impl Iterator<Item = &Seat> {
        self.cooperative.iter().map(|i| &self.seats[*i])
    }

    /// Whether there is nothing left to do: every tasklet is done, or the run was stopped.
    pub(crate) fn finished(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0 || self.shared.stopped()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The seats of this worker's tasklets.
    pub(crate) fn group(&self, worker: usize) -> Range<usize> {
        let cuts = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        match (cuts.get(worker), cuts.get(worker + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    /// Cuts the groups anew. The workers have been started.
    pub(crate) fn place(&self, cuts: &[usize]) {
        let mut current = self.cuts.lock().unwrap_or_else(PoisonError::into_inner);
        if *current != cuts {
            current.clear();
            current.extend_from_slice(cuts);
            drop(current);
            self.version.fetch_add(1, Ordering::Release);
            self.shared.signal.notify();
            self.shared.surplus.notify();
        }
    }

    /// How many worker threads run.
    pub(crate) fn started(&self) -> usize {
        self.started_threads.load(Ordering::Relaxed)
    }

    /// Says that the calling thread is the one worker.
    pub(crate) fn run_by_caller(&self) {
        self.started_threads.store(1, Ordering::Relaxed);
    }

    /// Sees to it that at least so many worker threads run.
    pub(crate) fn start(self: &Arc<Self>, workers: usize) -> std::io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for worker in self.started_threads.load(Ordering::Relaxed)..workers {
            let pool = self.clone();
            let builder = std::thread::Builder::new().name(format!("millstream-{worker}"));
            threads.push(builder.spawn(move || pool.guarded(|| pool.work(worker)))?);
            self.started_threads.store(worker + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn work(self: &Arc<Self>, worker: usize) {
        if let Some(pins) = &self.pins {
            pins.pin(worker);
        }
        work(self, worker);
    }

    /// Starts the threads of the tasklets that have one of their own.
    pub(crate) fn start_blocking(self: &Arc<Self>) -> std::io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, seat) in self.seats.iter().enumerate().filter(|(_, seat)| seat.home == Home::Thread) {
            let pool = self.clone();
            let builder = std::thread::Builder::new().name(format!("millstream-{}", seat.name));
            threads.push(builder.spawn(move || pool.guarded(|| work_alone(&pool, i)))?);
        }
        Ok(())
    }

    /// Whatever leaves a worker by a panic ends the run: nobody waits for a thread that is gone.
    fn guarded(&self, work: impl FnOnce()) {
        if let Err(payload) = catch_unwind(AssertUnwindSafe(work)) {
            self.shared.fail("worker", None, payload.as_ref());
        }
    }

    /// One step of every tasklet in the group, timed or not. How much moved; none if somebody else was at one of them.
    pub(crate) fn round(&self, group: Range<usize>, timed: bool) -> Option<usize> {
        let mut moved = Some(0);
        let mut clock = timed.then(Instant::now);
        for i in &self.cooperative[group] {
            match self.step(*i, &mut clock) {
                None => moved = None,
                Some(step) => moved = moved.map(|moved| moved + step),
            }
        }
        moved
    }

    /// One step of the tasklet in this seat. How much moved, 1 at least if it is done now; none if somebody else is
    /// at it.
    pub(crate) fn step(&self, seat: usize, clock: &mut Option<Instant>) -> Option<usize> {
        let before = &self.seats[..seat];
        let seat = &self.seats[seat];
        if seat.done.load(Ordering::Relaxed) || self.shared.stopped() {
            return Some(0);
        }
        let progress = match seat.cancelled(&self.shared) {
            true => match seat.cancel(&self.shared, before.iter().all(|seat| seat.done.load(Ordering::Acquire)))? {
                Progress::NONE => seat.step(&self.shared, clock)?,
                cancelled => cancelled,
            },
            false => seat.step(&self.shared, clock)?,
        };
        if progress.done && !seat.done.swap(true, Ordering::Release) {
            self.left.fetch_sub(1, Ordering::Relaxed);
        }
        Some(progress.moved.max(usize::from(progress.done || progress.worked)))
    }

    /// Whether the tasklet in this seat has ended.
    pub(crate) fn is_done(&self, seat: usize) -> bool {
        self.seats[seat].done.load(Ordering::Relaxed)
    }

    /// Waits until every worker has ended. The source's own thread, if it has one, is not waited for.
    pub(crate) fn join(&self) {
        let next = || self.threads.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(thread) = next() {
            if let Err(payload) = thread.join() {
                self.shared.fail("worker", None, payload.as_ref());
            }
        }
    }

    /// What every stage has done and what is left of its input; and gives the tasklets up. Once the workers have
    /// ended.
    pub(crate) fn clear(&self) -> Vec<StageReport> {
        let report = |seat: &Seat| {
            let tasklet = seat.lock().take();
            let left = tasklet.as_ref().map_or(0, |tasklet| tasklet.backlog());
            seat.give_up(tasklet, &self.shared);
            let longest_step = Duration::from_nanos(seat.longest_ns.load(Ordering::Relaxed));
            StageReport {
                name: seat.name.clone(),
                moved: seat.moved(),
                steps: seat.steps.load(Ordering::Relaxed),
                left,
                ns_per_number: seat.cost(),
                longest_step,
                budget: seat.budget,
                overruns: seat.overruns.load(Ordering::Relaxed),
                blocking: seat.home == Home::Thread,
            }
        };
        self.seats.iter().map(report).collect()
    }
}
