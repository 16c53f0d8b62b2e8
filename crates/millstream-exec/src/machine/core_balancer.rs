//! Core balancing: workers that share a core though another is idle move apart.
//!
//! The kernel may place a thread on the core of another worker when the thread begins, wakes, or is left there by
//! others, and leave both there for tens of milliseconds or for good: each waits so often for the other that neither
//! looks busy. The later worker of the two leaves that core. It does so more and more seldom where it does not help,
//! and not at all where workers are pinned or the threads of the run outnumber the cores.

use std::sync::atomic::{AtomicI32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The core on which each worker was seen last, and the system's number of its thread.
pub(crate) struct CoreBalancer {
    workers: Box<[Seen]>,
}

struct Seen {
    /// The core's number plus 1; 0 for a worker that was not seen.
    on: AtomicUsize,
    thread: AtomicI32,
}

impl Seen {
    fn core(&self) -> Option<usize> {
        self.on.load(Ordering::Relaxed).checked_sub(1)
    }
}

/// When a worker may move again. The time doubles if it soon shares a core again, and halves while it has one alone.
pub(crate) struct MigrationBackoff {
    next: Option<Instant>,
    idle: Duration,
}

/// The shortest time between two moves of a worker.
const SOON: Duration = Duration::from_millis(1);
/// The longest time between two moves, reached if moving does not help.
const SELDOM: Duration = Duration::from_secs(2);

impl MigrationBackoff {
    pub(crate) fn new() -> Self {
        MigrationBackoff { next: None, idle: SOON }
    }

    fn is_due(&self, now: Instant) -> bool {
        self.next.is_none_or(|next| now >= next)
    }

    fn moved(&mut self, now: Instant) {
        self.next = Some(now + self.idle);
        self.idle = (self.idle * 2).min(SELDOM);
    }

    /// No other worker was at work on its core.
    fn alone(&mut self, now: Instant) {
        if self.is_due(now) {
            self.idle = (self.idle / 2).max(SOON);
            self.next = Some(now + self.idle);
        }
    }
}

impl CoreBalancer {
    /// A balancer for at most `most` workers.
    pub(crate) fn new(most: usize) -> Self {
        let unseen = |_| Seen { on: AtomicUsize::new(0), thread: AtomicI32::new(0) };
        CoreBalancer { workers: (0..most).map(unseen).collect() }
    }

    /// Records the core of the calling thread, which is `worker`'s, and moves the thread to another core if a worker
    /// before it is at work on this one. The thread's set of allowed cores stays the same.
    pub(crate) fn look(&self, worker: usize, moves: &mut MigrationBackoff, now: Instant) {
        let Some(core) = system::core() else { return };
        self.see(worker, core);
        if !moves.is_due(now) {
            return;
        }
        // A recorded core may be out of date, so the system is asked; not at every call.
        if self.before(worker, core).any(|thread| system::works(thread, core)) {
            moves.moved(now);
            system::leave(core, self.workers.iter().filter_map(Seen::core));
        } else {
            moves.alone(now);
        }
    }

    /// Records that this worker, on the calling thread, is on that core.
    fn see(&self, worker: usize, core: usize) {
        if let Some(seen) = self.workers.get(worker).filter(|seen| seen.core() != Some(core)) {
            seen.thread.store(system::thread(), Ordering::Relaxed);
            seen.on.store(core + 1, Ordering::Relaxed);
        }
    }

    /// The threads of the workers before this one that were seen on that core.
    fn before(&self, worker: usize, core: usize) -> impl Iterator<Item = i32> {
        let there = self.workers.iter().take(worker).filter(move |seen| seen.core() == Some(core));
        there.map(|seen| seen.thread.load(Ordering::Relaxed))
    }
}

#[cfg(target_os = "linux")]
mod system {
    use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
    use std::fs::File;
    use std::io::{Read, Write};

    /// The core that the calling thread is on.
    pub(super) fn core() -> Option<usize> {
        // An error is no core's number.
        Some(sched_getcpu()).filter(|core| *core < CpuSet::MAX_CPU)
    }

    /// The calling thread's number.
    pub(super) fn thread() -> i32 {
        gettid().as_raw_nonzero().get()
    }

    /// Whether a thread of this process runs on that core or waits for its turn there. Does not allocate.
    pub(super) fn works(thread: i32, core: usize) -> bool {
        let (mut path, mut stat) = ([0; 40], [0; 1024]);
        let mut rest = &mut path[..];
        if write!(rest, "/proc/self/task/{thread}/stat").is_err() {
            return false;
        }
        let free = rest.len();
        let path = str::from_utf8(&path[..path.len() - free]).unwrap_or_default();
        let read = File::open(path).and_then(|mut file| file.read(&mut stat));
        read.ok().and_then(|read| at_work(str::from_utf8(&stat[..read]).ok()?)) == Some(core)
    }

    /// The core of a thread that runs or waits for its turn, from its line in `/proc`.
    pub(super) fn at_work(stat: &str) -> Option<usize> {
        // The thread's name is in brackets, and may itself contain brackets.
        let (_, after_name) = stat.rsplit_once(')')?;
        let mut fields = after_name.split_ascii_whitespace();
        // The state is the third field of the line, the core the thirty-ninth.
        (fields.next()? == "R").then(|| fields.nth(35)?.parse().ok())?
    }

    /// Moves the calling thread to another core that it may use, preferably one that is not taken. If the system
    /// refuses, the thread stays. Afterwards the thread may run on the same cores as before; the system regards that
    /// set as the thread's own choice, so cores that its control group gets later are not added.
    pub(super) fn leave(core: usize, taken: impl Iterator<Item = usize>) {
        let Ok(allowed) = sched_getaffinity(None) else { return };
        let mut others = allowed;
        others.unset(core);
        let mut free = others;
        taken.for_each(|core| free.unset(core));
        let Some(others) = [free, others].into_iter().find(|cores| cores.count() > 0) else { return };
        if sched_setaffinity(None, &others).is_ok() {
            let _ = sched_setaffinity(None, &allowed);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    pub(super) fn core() -> Option<usize> {
        None
    }

    pub(super) fn thread() -> i32 {
        0
    }

    pub(super) fn works(_: i32, _: usize) -> bool {
        false
    }

    pub(super) fn leave(_: usize, _: impl Iterator<Item = usize>) {}
}

#[cfg(test)]
mod tests {
    use super::{CoreBalancer, MigrationBackoff, SELDOM, SOON};
    use std::time::Instant;

    #[test]
    fn workers_before_this_one_are_found_on_its_core() {
        let spread = CoreBalancer::new(3);
        let there = |worker, core| {
            spread.see(worker, core);
            spread.before(worker, core).count()
        };
        assert_eq!(there(2, 0), 0, "no other worker was seen");
        assert_eq!(there(0, 0), 0, "no worker is before it");
        assert_eq!((there(2, 0), there(2, 1)), (1, 0));
        assert_eq!((there(1, 0), there(2, 0), there(1, 2)), (1, 2, 0));
        assert_eq!((there(2, 2), there(2, 1)), (1, 0));
        assert_eq!(there(7, 0), 1, "more workers than announced");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_is_at_work_where_it_runs() {
        use super::system::{at_work, core, thread, works};
        let stat = |state: &str, core: u32| format!("7 (a) R (b) {state} {} {core} 0 0", ["0"; 35].join(" "));
        assert_eq!(at_work(&stat("R", 11)), Some(11));
        assert_eq!(at_work(&stat("S", 11)), None);
        assert_eq!(at_work("7 (a) R 1 2"), None);
        // The thread may be moved between the two calls.
        assert!((0..1000).any(|_| works(thread(), core().unwrap())));
        assert!(!works(thread(), usize::MAX) && !works(i32::MAX, 0));
    }

    #[test]
    fn moves_without_effect_become_rare() {
        let (mut moves, start) = (MigrationBackoff::new(), Instant::now());
        assert!(moves.is_due(start));
        moves.moved(start);
        assert!(!moves.is_due(start) && moves.is_due(start + SOON));
        moves.moved(start + SOON);
        assert!(!moves.is_due(start + SOON * 2) && moves.is_due(start + SOON * 3));
        let mut now = start;
        for _ in 0..100 {
            now += SELDOM;
            assert!(moves.is_due(now));
            moves.moved(now);
        }
        assert!(!moves.is_due(now + SELDOM / 2));
        // It has a core of its own for a long time, and then shares one again.
        (0..100).for_each(|_| {
            now += SELDOM;
            moves.alone(now);
        });
        moves.moved(now + SOON);
        assert!(!moves.is_due(now + SOON) && moves.is_due(now + SOON * 2));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_thread_that_leaves_a_core_may_come_back() {
        use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
        let allowed = sched_getaffinity(None).unwrap();
        let mut here = CpuSet::new();
        here.set(super::system::core().unwrap());
        sched_setaffinity(None, &here).unwrap();
        if sched_getaffinity(None).unwrap() != here {
            return eprintln!("this system accepts an affinity mask and ignores it");
        }
        sched_setaffinity(None, &allowed).unwrap();
        // The system may move the thread once more before it is looked at.
        let left = (0..100).any(|_| {
            let core = super::system::core().unwrap();
            super::system::leave(core, std::iter::empty());
            assert_eq!(sched_getaffinity(None).unwrap(), allowed);
            super::system::core().unwrap() != core
        });
        assert_eq!(left, allowed.count() > 1);
    }
}
