//! What a thread without work does: the idle strategies.
//!
//! No thread spins while the threads of a run outnumber the usable cores. The threads of the source and of stages that
//! block count. This is checked again whenever the number of workers changes.

use crate::contention::Contention;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a thread without work does before it has some again.
///
/// One that finds a little at every look, again and again, tries out whether more is moved in a second if it looks less often, and
/// then waits up to a microsecond between two looks: not with `BusySpin` and `Blocking`, nor where threads outnumber cores, nor
/// where as much is moved anyway, as by a producer that is slower or waits for an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize), serde(rename_all = "kebab-case"))]
pub enum Wait {
    /// Spins a little, yields a little, then parks until something happens. An idle run takes no processor time. Where a yield
    /// took a millisecond, others are at work on the cores: it parks at once for some time, since to give a core away costs a time
    /// slice there.
    #[default]
    Phased,
    /// Never gives the core away: the least latency, a whole core a thread. Refused where the threads of a run
    /// outnumber the cores that it may use; then as `Phased`.
    BusySpin,
    /// Spins a little, then yields for ever.
    Yielding,
    /// Spins and yields a little, then sleeps: a microsecond first, then twice as long every time, 512 microseconds at most,
    /// until there is work again. Nobody pays for a wake-up; what comes after a long silence waits for the end of a nap.
    Sleeping,
    /// Parks at once.
    Blocking,
}

impl Wait {
    /// All of them, by name.
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
/// How often a nap is doubled.
const DOUBLINGS: u32 = 9;
/// A yield that takes longer gave the core to somebody with work to do.
const SLICE: Duration = Duration::from_micros(20);

/// One that takes so long gave it to somebody who used a part of a time slice: a worker of this run seldom has so much to do.
const OTHERS: Duration = Duration::from_millis(1);

/// What threads do while they wait, in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Backoff {
    /// Rounds of looking again at once. None while threads outnumber cores.
    pub spins: u32,
    /// Then rounds of yielding.
    pub yields: u32,
    /// Then sleeps, with [`Wait::Sleeping`]: the first one of so many microseconds, each further one twice as long,
    pub nap_us: u64,
    /// up to so many microseconds.
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

/// Why so many threads do not spin, although they were asked to.
pub(crate) fn refused(threads: usize, cores: usize) -> String {
    format!("busy-spin refused: {threads} threads on {cores} usable cores; waiting phased")
}

/// A strategy, as this run can have it: where threads outnumber cores, nobody spins.
#[derive(Debug)]
pub(crate) struct IdleStrategy {
    wait: Wait,
    cores: usize,
    /// Threads beside the workers.
    others: AtomicUsize,
    /// The workers and the others.
    threads: AtomicUsize,
    /// Whether it was said that spinning is refused.
    told: AtomicBool,
    contention: Contention,
}

impl IdleStrategy {
    pub(crate) fn of(wait: Wait, cores: usize) -> Self {
        let [others, threads] = [0, 1].map(AtomicUsize::new);
        IdleStrategy { wait, cores, others, threads, told: AtomicBool::new(false), contention: Contention::new() }
    }

    /// There are so many threads beside the workers: those of a source and of stages that block.
    pub(crate) fn beside(&self, others: usize) {
        self.others.store(others, Ordering::Relaxed);
    }

    /// Whether there is a core for each thread of the run, and for this worker, which may not be one of them yet.
    pub(crate) fn has_core(&self, worker: usize) -> bool {
        let others = self.others.load(Ordering::Relaxed);
        self.threads.load(Ordering::Relaxed).max(worker + 1 + others) <= self.cores
    }

    /// Whether this worker may be awake for a moment without work.
    pub(crate) fn stands_by(&self, worker: usize) -> bool {
        self.wait != Wait::Blocking && self.has_core(worker)
    }

    /// There are so many workers from now on. Why spinning is refused, if it was asked for and this is the first time.
    pub(crate) fn placed(&self, workers: usize) -> Option<String> {
        let threads = workers + self.others.load(Ordering::Relaxed);
        self.threads.store(threads, Ordering::Relaxed);
        let crowded = threads > self.cores;
        let news = crowded && self.wait == Wait::BusySpin && !self.told.swap(true, Ordering::Relaxed);
        news.then(|| refused(threads, self.cores))
    }

    /// Whether a thread may linger before it looks for more: somebody else must be at work, and on another core.
    pub(crate) fn lingers(&self) -> bool {
        let threads = self.threads.load(Ordering::Relaxed);
        let waits = matches!(self.wait, Wait::Phased | Wait::Yielding | Wait::Sleeping);
        waits && threads > 1 && threads <= self.cores
    }

    /// Whether other threads than those of this run want its cores.
    pub(crate) fn contended(&self) -> bool {
        self.contention.holds()
    }

    /// A thread of this run waited so long for a core that another one had.
    pub(crate) fn waited_for_core(&self, time: Duration) {
        if time >= OTHERS {
            self.contention.noticed();
        }
    }

    /// Waits a little in the `round`-th round without work; false when it is time to park.
    pub(crate) fn wait(&self, round: u32) -> bool {
        if self.wait == Wait::Phased && self.contended() {
            return false;
        }
        let crowded = self.threads.load(Ordering::Relaxed) > self.cores;
        let spins = if crowded || self.wait == Wait::Blocking { 0 } else { SPINS };
        if round < spins || self.wait == Wait::BusySpin && !crowded {
            std::hint::spin_loop();
            return true;
        }
        match self.wait {
            Wait::Blocking => return false,
            Wait::Yielding => std::thread::yield_now(),
            _ if round < spins + YIELDS => return self.yielded_quickly() || self.wait == Wait::Sleeping,
            Wait::Sleeping => std::thread::sleep(nap(round - spins - YIELDS)),
            _ => return false,
        }
        true
    }

    /// Yields; false if somebody else took the core for long. Where others want the core as well, a few yields cost as many
    /// of their time slices, and a parked thread is back sooner.
    fn yielded_quickly(&self) -> bool {
        let begun = Instant::now();
        std::thread::yield_now();
        let took = begun.elapsed();
        self.waited_for_core(took);
        took < SLICE
    }
}

/// How long to sleep after so many naps.
fn nap(before: u32) -> Duration {
    NAP * (1 << before.min(DOUBLINGS))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn beside_others_a_thread_parks_at_once_for_some_time() {
        let waits = |wait, seen: Duration| {
            let idle = IdleStrategy::of(wait, 4);
            // It counts for some time only, and this thread may be away for longer just then.
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
