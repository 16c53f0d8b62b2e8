//! The idle strategies: how a thread without work waits.
//!
//! No thread spins while the threads of a run outnumber the usable cores. The threads of the source and of stages that
//! block count. This is checked again whenever the number of workers changes, or the pipeline.

use crate::contention::Contention;
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a thread does while it has no work.
///
/// With `Phased`, `Yielding` and `Sleeping`, a thread that finds little at every look tries whether more numbers move a
/// second if it looks less often. If so, it waits up to a microsecond between two looks. It does not wait if threads
/// outnumber cores, or if as many numbers move without it, as from a slower producer or one that waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Wait {
    /// Spins briefly, yields briefly, then parks until something happens. An idle run takes no processor time. If a
    /// yield took a millisecond, other processes use the cores: for some time the thread parks at once, because there a
    /// yield costs a time slice.
    #[default]
    Phased,
    /// Never yields the core: the lowest latency, at the cost of one whole core a thread. Refused while the run's
    /// threads outnumber the cores that it may use; the run then waits as with `Phased`.
    BusySpin,
    /// Spins briefly, then yields until there is work.
    Yielding,
    /// Spins and yields briefly, then sleeps: one microsecond first, then twice as long every time, up to 512
    /// microseconds, until there is work again. Producers pay for no wake-up; a value after a long silence waits for
    /// the end of a sleep.
    Sleeping,
    /// Parks at once.
    Blocking,
}

impl Wait {
    /// Every strategy, in the order of declaration.
    pub const ALL: [Wait; 5] = [Wait::Phased, Wait::BusySpin, Wait::Yielding, Wait::Sleeping, Wait::Blocking];
}

impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Wait::Phased => "phased",
            Wait::BusySpin => "busy-spin",
            Wait::Yielding => "yielding",
            Wait::Sleeping => "sleeping",
            Wait::Blocking => "blocking",
        })
    }
}

const SPINS: u32 = 256;
const YIELDS: u32 = 16;
const NAP: Duration = Duration::from_micros(1);
/// How many times a nap is doubled.
const DOUBLINGS: u32 = 9;
/// A yield that takes longer ran another thread with work to do.
const SLICE: Duration = Duration::from_micros(20);

/// A yield that takes longer ran another process for part of its time slice; a worker of this run seldom works for as
/// long.
const OTHERS: Duration = Duration::from_millis(1);

/// The numbers of rounds and sleeps of a waiting thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Backoff {
    /// Rounds of looking again at once. None while threads outnumber cores.
    pub spins: u32,
    /// Rounds of yielding after those.
    pub yields: u32,
    /// With [`Wait::Sleeping`], the first sleep after those, in microseconds. Each further sleep takes twice as long,
    pub nap_us: u64,
    /// up to this many microseconds.
    pub longest_nap_us: u64,
}

impl Backoff {
    pub(crate) const THIS: Backoff = Backoff {
        spins: SPINS,
        yields: YIELDS,
        nap_us: NAP.as_micros() as u64,
        longest_nap_us: (NAP.as_micros() as u64) << DOUBLINGS,
    };
}

/// The message that a run does not spin although it was asked to.
pub(crate) fn refused(threads: usize, cores: usize) -> String {
    format!("no busy-spin: there are {threads} threads for {cores} usable cores; they wait phased instead")
}

/// A strategy as this run can apply it: if threads outnumber cores, no thread spins.
#[derive(Debug)]
pub(crate) struct IdleStrategy {
    first: (Wait, usize),
    /// The strategy and cores of the run that has taken a source that existed before it.
    adopted: OnceLock<(Wait, usize)>,
    /// The threads that values come from, and those of tasklets that have one each.
    feeding: AtomicUsize,
    apart: AtomicUsize,
    /// The workers and the others.
    threads: AtomicUsize,
    /// Whether the refusal of spinning was reported.
    reported: AtomicBool,
    contention: Contention,
}

impl IdleStrategy {
    pub(crate) fn of(wait: Wait, cores: usize) -> Self {
        let [feeding, apart, threads] = [0, 0, 1].map(AtomicUsize::new);
        IdleStrategy {
            first: (wait, cores),
            adopted: OnceLock::new(),
            feeding,
            apart,
            threads,
            reported: AtomicBool::new(false),
            contention: Contention::new(),
        }
    }

    /// Sets how it waits from now on, on `cores` cores.
    pub(crate) fn adopt(&self, wait: Wait, cores: usize) {
        // One run takes a source.
        let _ = self.adopted.set((wait, cores));
    }

    /// How it waits, and on how many cores.
    #[inline]
    fn strategy(&self) -> (Wait, usize) {
        *self.adopted.get().unwrap_or(&self.first)
    }

    /// Sets the number of threads that values come from.
    pub(crate) fn beside(&self, feeding: usize) {
        self.feeding.store(feeding, Ordering::Relaxed);
    }

    /// Sets the number of tasklets that have a thread of their own.
    pub(crate) fn apart(&self, tasklets: usize) {
        self.apart.store(tasklets, Ordering::Relaxed);
    }

    /// Threads other than the workers.
    fn others(&self) -> usize {
        self.feeding.load(Ordering::Relaxed) + self.apart.load(Ordering::Relaxed)
    }

    /// Whether there is a core for each thread of the run and for this worker, which may not count among them yet.
    pub(crate) fn has_core(&self, worker: usize) -> bool {
        self.threads.load(Ordering::Relaxed).max(worker + 1 + self.others()) <= self.strategy().1
    }

    /// Whether this worker may stay awake for a moment without work.
    pub(crate) fn stands_by(&self, worker: usize) -> bool {
        self.strategy().0 != Wait::Blocking && self.has_core(worker)
    }

    /// Sets the number of workers. Returns the message that spinning is refused, if it was asked for and this is the
    /// first time.
    pub(crate) fn placed(&self, workers: usize) -> Option<String> {
        let threads = workers + self.others();
        self.threads.store(threads, Ordering::Relaxed);
        let (wait, cores) = self.strategy();
        let crowded = threads > cores;
        let news = crowded && wait == Wait::BusySpin && !self.reported.swap(true, Ordering::Relaxed);
        news.then(|| refused(threads, cores))
    }

    /// Whether a thread may linger before it looks for more: another thread must be at work, on another core.
    pub(crate) fn lingers(&self) -> bool {
        let threads = self.threads.load(Ordering::Relaxed);
        let (wait, cores) = self.strategy();
        let waits = matches!(wait, Wait::Phased | Wait::Yielding | Wait::Sleeping);
        waits && threads > 1 && threads <= cores
    }

    /// Whether threads of other processes want this run's cores.
    pub(crate) fn contended(&self) -> bool {
        self.contention.holds()
    }

    /// A thread of this run waited for `time` for a core that another thread had.
    pub(crate) fn waited_for_core(&self, time: Duration) {
        if time >= OTHERS {
            self.contention.noticed();
        }
    }

    /// Waits a little in the `round`-th round without work. Returns false when it is time to park.
    pub(crate) fn wait(&self, round: u32) -> bool {
        let (wait, cores) = self.strategy();
        if wait == Wait::Phased && self.contended() {
            return false;
        }
        let crowded = self.threads.load(Ordering::Relaxed) > cores;
        let spins = if crowded || wait == Wait::Blocking { 0 } else { SPINS };
        if round < spins || wait == Wait::BusySpin && !crowded {
            std::hint::spin_loop();
            return true;
        }
        match wait {
            Wait::Blocking => return false,
            Wait::Yielding => std::thread::yield_now(),
            _ if round < spins + YIELDS => return self.yielded_quickly() || wait == Wait::Sleeping,
            Wait::Sleeping => std::thread::sleep(nap(round - spins - YIELDS)),
            _ => return false,
        }
        true
    }

    /// Yields. Returns false if another thread took the core for long: there a few yields cost as many time slices, and
    /// a parked thread is back sooner.
    fn yielded_quickly(&self) -> bool {
        let begun = Instant::now();
        std::thread::yield_now();
        let took = begun.elapsed();
        self.waited_for_core(took);
        took < SLICE
    }
}

/// How long to sleep after `before` naps.
fn nap(before: u32) -> Duration {
    NAP * (1 << before.min(DOUBLINGS))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn on_shared_cores_a_thread_parks_at_once_for_some_time() {
        let waits = |wait, seen: Duration| {
            let idle = IdleStrategy::of(wait, 4);
            // The observation expires, and this thread may be away for longer just then.
            (0..1000).all(|_| {
                idle.waited_for_core(seen);
                idle.wait(1)
            })
        };
        assert!(!waits(Wait::Phased, OTHERS));
        assert!(waits(Wait::Phased, OTHERS - Duration::from_nanos(1)), "an ordinary yield");
        for asked in [Wait::BusySpin, Wait::Yielding, Wait::Sleeping] {
            assert!(waits(asked, OTHERS), "{asked} is what was asked for");
        }
    }

    #[test]
    fn naps_double_up_to_the_longest() {
        let micros = |before| nap(before).as_micros() as u64;
        assert_eq!([0, 1, 2, 3].map(micros), [1, 2, 4, 8]);
        let Backoff { nap_us, longest_nap_us, .. } = Backoff::THIS;
        assert_eq!((micros(0), micros(8), micros(9)), (nap_us, longest_nap_us / 2, longest_nap_us));
        assert_eq!((micros(10), micros(u32::MAX)), (longest_nap_us, longest_nap_us));
    }
}
