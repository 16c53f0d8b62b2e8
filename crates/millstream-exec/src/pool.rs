//! The tasklets of a run, and which worker runs which of them: worker i runs the i-th contiguous group, in pipeline
//! order.
//!
//! A tasklet keeps its place in the pool; the cut between two groups moves. A thread that steps a tasklet holds its
//! lock. So a cut can move at any time, and the tasklet changes workers between two steps: that is how `set_workers`
//! works during a run. A stage that may wait (`map_blocking`, `try_map_retry`) is in no group. Each of its tasklets, k
//! of them in a shard, has a thread of its own and takes one number at a time.

mod beside;
pub(crate) mod placing;
#[cfg(feature = "service")]
mod release;
mod replace;
mod rest;
pub(crate) mod roster;
mod round;
pub(crate) mod stepping;
mod visitors;

#[cfg(feature = "service")]
pub(crate) use release::Releases;
pub(crate) use rest::Helping;
pub(crate) use round::Round;
pub(crate) use visitors::Visit;
pub use visitors::runs_stages;

use crate::activity::Activity;
use crate::budget::Budgets;
use crate::latency_markers::MarkerPasses;
use crate::lock::try_lock;
use crate::machine::{Accounts, CoreBalancer, MigrationBackoff, Pins, usable_cores};
use crate::placement::{Controller, cut_evenly};
use crate::report::StageReport;
use crate::shared::Shared;
use crate::source_thread::SourceThread;
use crate::watched::Role;
use crate::wiring::Named;
use crate::worker::{work, work_alone};
use crate::worker_standby::WorkerStandby;
use millstream_core::Plan;
use millstream_core::failure::caught;
use roster::{Roster, tasks};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{JoinHandle, current};
use std::time::Instant;

pub(crate) struct Pool {
    pub(crate) shared: Arc<Shared>,
    /// The most numbers that one step moves.
    batch: u64,
    placed: Mutex<Placed>,
    /// Incremented when `placed` changes.
    version: AtomicU64,
    /// The most workers.
    seats: usize,
    /// The reports of the stages of earlier versions.
    retired: Mutex<Vec<StageReport>>,
    /// The number of tasklets that are not done.
    left: AtomicUsize,
    threads: Mutex<Vec<JoinHandle<()>>>,
    /// When the last thread had done its work.
    pub(crate) ended: OnceLock<Instant>,
    started_threads: AtomicUsize,
    /// Threads at work, and threads that have not exited.
    working: AtomicUsize,
    alive: AtomicUsize,
    /// No thread is joined: the last one to exit drops the remaining tasklets.
    abandoned: AtomicBool,
    /// Threads of the program that run the stages now.
    visitors: AtomicUsize,
    #[cfg(feature = "service")]
    release: release::Release,
    controller: Mutex<Controller>,
    pub(crate) pins: Option<Pins>,
    spread: CoreBalancer,
    pub(crate) source_thread: SourceThread,
    /// How the workers spend their time.
    pub(crate) accounts: Accounts,
    /// Whether every step is timed.
    pub(crate) exact: bool,
    /// The current activity of every worker.
    activities: Box<[AtomicU8]>,
    pub(crate) standby: WorkerStandby,
}

/// The tasklets, and which worker runs which of them.
struct Placed {
    roster: Arc<Roster>,
    /// The boundaries of the groups: worker i runs `cuts[i]..cuts[i + 1]` of the entries that workers share.
    cuts: Vec<usize>,
    /// How many numbers the tasklets of earlier versions moved.
    moved_before: u64,
}

impl Pool {
    /// A pool of tasklets whose steps move at most one batch. Without `budgets`, as on the calling thread, steps have
    /// no time limit.
    pub(crate) fn new(
        tasklets: Vec<Named>,
        batch: usize,
        shared: Arc<Shared>,
        controller: Controller,
        pins: Option<Pins>,
        budgets: Option<&Budgets>,
        plan: &Plan,
    ) -> Arc<Self> {
        let passes = MarkerPasses::of(plan);
        let roster = Roster::new(tasks(tasklets, budgets, plan, &passes), passes);
        let (count, workers) = (roster.tasks.len(), controller.workers());
        shared.has_workers(workers);
        let mut cuts = Vec::new();
        cut_evenly(roster.cooperative.len(), workers, &mut cuts);
        // A later version of the pipeline may have more tasklets.
        let seats = count.max(usable_cores().usable).max(1);
        Arc::new(Pool {
            shared,
            batch: batch as u64,
            placed: Mutex::new(Placed { roster: Arc::new(roster), cuts, moved_before: 0 }),
            standby: WorkerStandby::new(seats),
            activities: (0..seats).map(|_| AtomicU8::new(0)).collect(),
            version: AtomicU64::new(0),
            seats,
            retired: Mutex::default(),
            left: AtomicUsize::new(count),
            threads: Mutex::new(Vec::new()),
            ended: OnceLock::new(),
            started_threads: AtomicUsize::new(0),
            working: AtomicUsize::new(0),
            alive: AtomicUsize::new(0),
            abandoned: AtomicBool::new(false),
            visitors: AtomicUsize::new(0),
            #[cfg(feature = "service")]
            release: release::Release::default(),
            controller: Mutex::new(controller),
            pins,
            spread: CoreBalancer::new(seats),
            source_thread: SourceThread::default(),
            // The last account is the source's thread.
            accounts: Accounts::new(seats + 1),
            exact: budgets.is_some_and(Budgets::are_set),
        })
    }

    pub(crate) fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The controller, unless another thread holds the lock.
    pub(crate) fn try_controller(&self) -> Option<MutexGuard<'_, Controller>> {
        try_lock(&self.controller)
    }

    /// The present tasklets.
    pub(crate) fn roster(&self) -> Arc<Roster> {
        self.placed().roster.clone()
    }

    fn placed(&self) -> MutexGuard<'_, Placed> {
        self.placed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The most workers that the run can have.
    pub(crate) fn seats(&self) -> usize {
        self.seats
    }

    /// The account of the source's thread.
    pub(crate) fn source_account(&self) -> usize {
        self.seats
    }

    /// Switches observation of the run on or off.
    pub(crate) fn observe(&self, on: bool) {
        let roster = self.roster();
        if on {
            self.shared.markers.lists(&roster.passes);
        }
        self.shared.markers.switch(on);
        roster.tasks.iter().for_each(|task| task.watched.probe.look(on));
    }

    /// Whether every tasklet is done.
    pub(crate) fn is_empty(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Whether the source is a tasklet and is done.
    pub(crate) fn source_is_done(&self) -> bool {
        let roster = self.roster();
        roster.tasks.first().is_some_and(|task| task.watched.role == Role::Source && task.done.load(Ordering::Relaxed))
    }

    /// Whether the run is over: every tasklet is done, or the run was stopped.
    pub(crate) fn finished(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0 || self.shared.stopped()
    }

    pub(crate) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The tasklets, and the entries of this worker's group.
    pub(crate) fn group(&self, worker: usize) -> (Arc<Roster>, Range<usize>) {
        let Placed { roster, cuts, .. } = &*self.placed();
        let group = match (cuts.get(worker), cuts.get(worker + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        };
        (roster.clone(), group)
    }

    /// Moves the boundaries of the groups, unless there are other tasklets by now. The workers have been started.
    pub(crate) fn place(&self, roster: &Arc<Roster>, cuts: &[usize]) {
        let mut placed = self.placed();
        let moves = Arc::ptr_eq(&placed.roster, roster) && placed.cuts != cuts;
        if moves {
            placed.cuts.clear();
            placed.cuts.extend_from_slice(cuts);
        }
        drop(placed);
        if moves {
            self.has_placed();
        }
        self.standby.dismiss();
    }

    /// Notifies the workers that the groups have changed.
    fn has_placed(&self) {
        self.version.fetch_add(1, Ordering::Release);
        self.shared.signal.notify();
        self.shared.surplus.notify();
    }

    /// The number of worker threads started.
    pub(crate) fn started(&self) -> usize {
        self.started_threads.load(Ordering::Relaxed)
    }

    /// Counts the calling thread as the only worker.
    pub(crate) fn run_by_caller(&self) {
        self.started_threads.store(1, Ordering::Relaxed);
    }

    /// Starts worker threads until `workers` run.
    pub(crate) fn start(self: &Arc<Self>, workers: usize) -> std::io::Result<()> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        for worker in self.started_threads.load(Ordering::Relaxed)..workers {
            let pool = self.clone();
            threads.push(self.spawn(format!("millstream-{worker}"), move || pool.work(worker))?);
            self.started_threads.store(worker + 1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Starts worker threads until `workers` run, and wakes those without tasklets.
    pub(crate) fn summon(self: &Arc<Self>, workers: usize) -> std::io::Result<()> {
        self.standby.call(workers);
        self.start(workers)?;
        self.shared.surplus.notify();
        Ok(())
    }

    /// Records what a worker does from now on. Only that worker calls it.
    pub(crate) fn does(&self, worker: usize, activity: Activity) {
        if let Some(known) = self.activities.get(worker) {
            known.store(activity as u8, Ordering::Relaxed);
        }
    }

    /// What every started worker does now.
    pub(crate) fn activities(&self) -> impl Iterator<Item = Activity> {
        let of =
            |known: &AtomicU8| Activity::ALL[usize::from(known.load(Ordering::Relaxed)).min(Activity::ALL.len() - 1)];
        self.activities.iter().take(self.started()).map(of)
    }

    fn work(self: &Arc<Self>, worker: usize) {
        if let Some(pins) = &self.pins {
            pins.pin(worker);
        }
        work(self, worker);
    }

    /// Moves this worker off a core that it shares with another worker, if there is a core for each.
    pub(crate) fn spread(&self, worker: usize, moves: &mut MigrationBackoff, now: Instant) {
        if self.pins.is_none() && self.shared.idle.has_core(worker) {
            self.spread.look(worker, moves, now);
        }
    }

    /// Starts the threads of the present tasklets that are to have a thread of their own and have none yet.
    pub(crate) fn start_blocking(self: &Arc<Self>) -> std::io::Result<()> {
        let roster = self.roster();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // Drops the threads of stages that were replaced.
        threads.retain(|thread| !thread.is_finished());
        for (i, task) in roster.tasks.iter().enumerate().filter(|(_, task)| task.takes_thread()) {
            let (pool, roster) = (self.clone(), roster.clone());
            threads.push(self.spawn(format!("millstream-{}", task.name), move || work_alone(&pool, &roster, i))?);
        }
        Ok(())
    }

    fn spawn(self: &Arc<Self>, name: String, work: impl FnOnce() + Send + 'static) -> std::io::Result<JoinHandle<()>> {
        let pool = self.clone();
        self.working.fetch_add(1, Ordering::SeqCst);
        self.alive.fetch_add(1, Ordering::SeqCst);
        // A thread's name has no such bytes.
        let thread = std::thread::Builder::new().name(name.replace('\0', "")).spawn(move || {
            // A pinned worker may have started it.
            pool.pins.iter().for_each(Pins::unpin);
            pool.starts_here();
            pool.guarded(work);
            pool.leave();
        });
        if thread.is_err() {
            self.leave();
        }
        thread
    }

    /// A panic that leaves a worker ends the run, since no thread would do that worker's steps.
    fn guarded(&self, work: impl FnOnce()) {
        if let Err(payload) = caught(work) {
            self.shared.fail("worker", None, payload);
        }
    }

    /// Called when a thread has done its work.
    fn leave(&self) {
        self.leave_work();
        self.alive.fetch_sub(1, Ordering::SeqCst);
        // The later of two threads, this one and the one that abandons the run, sees both stores and clears the pool.
        if self.abandoned.load(Ordering::SeqCst) {
            self.clear();
        }
        #[cfg(feature = "service")]
        self.release_if_over();
        // A future may wait for the last thread to exit.
        self.shared.signal.notify();
    }

    /// Whether every thread has done its work; then joining them does not block for long.
    pub(crate) fn has_left(&self) -> bool {
        self.alive.load(Ordering::SeqCst) == 0
    }

    /// Stops waiting for the threads of a run that is over: the last one to exit drops the tasklets.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::SeqCst);
        if self.has_left() {
            self.clear();
        }
    }

    /// Whether the calling thread is one of the run's. User code that waits for the run there would wait for itself.
    pub(crate) fn worker_calls(&self) -> bool {
        self.is_here() || self.source_thread.is_this()
    }

    /// Waits until every worker thread has exited, except the calling one, which user code may be on, and the source's.
    pub(crate) fn join(&self) {
        if self.worker_calls() {
            self.abandoned.store(true, Ordering::SeqCst);
        }
        while let Some(thread) = self.next_other() {
            if let Err(payload) = thread.join() {
                self.shared.fail("worker", None, payload);
            }
        }
    }

    /// Whether the threads are not joined.
    pub(crate) fn is_abandoned(&self) -> bool {
        self.abandoned.load(Ordering::SeqCst)
    }

    /// A thread other than the calling one.
    fn next_other(&self) -> Option<JoinHandle<()>> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let other = threads.iter().rposition(|thread| thread.thread().id() != current().id())?;
        Some(threads.swap_remove(other))
    }

    /// The report of every stage, with the input it has left. Drops the tasklets, except those in the middle of a step.
    /// Called once the run has ended or was stopped.
    pub(crate) fn clear(&self) -> Vec<StageReport> {
        self.shared.marks.clear();
        let wait = !self.is_abandoned();
        let mut stages = self.roster().reports(&self.shared, wait);
        let retired = self.retired.lock().unwrap_or_else(PoisonError::into_inner);
        replace::add_retired(&mut stages, &retired);
        stages
    }
}
