use crate::rings::usable_cores;
use std::fmt;
use std::time::{Duration, Instant};

/// What a thread without work does before it has some again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Wait {
    /// Spins a little, yields a little, then parks until something happens. An idle run takes no processor time.
    #[default]
    Phased,
    /// Never gives the core away: the least latency, a whole core a thread. Refused where the threads of a run
    /// outnumber the cores that it may use; then as `Phased`.
    BusySpin,
    /// Spins a little, then yields for ever.
    Yielding,
    /// Spins and yields a little, then sleeps 50 microseconds at a time: no wake-up to pay for, and some latency.
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
const NAP: Duration = Duration::from_micros(50);
/// A yield that takes longer gave the core to somebody with work to do.
const SLICE: Duration = Duration::from_micros(20);

/// A strategy, as this run can have it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    wait: Wait,
    spins: u32,
}

impl Patience {
    /// For a run of so many threads; and why, if it is not what was asked for.
    pub(crate) fn of(wait: Wait, threads: usize) -> (Self, Option<String>) {
        let cores = usable_cores();
        let crowded = threads > cores;
        let spins = if crowded || wait == Wait::Blocking { 0 } else { SPINS };
        if crowded && wait == Wait::BusySpin {
            let reason = format!("busy-spin refused: {threads} threads on {cores} usable cores; waiting phased");
            return (Patience { wait: Wait::Phased, spins }, Some(reason));
        }
        (Patience { wait, spins }, None)
    }

    /// Waits a little in the `round`-th round without work; false when it is time to park.
    pub(crate) fn wait(&self, round: u32) -> bool {
        if round < self.spins || self.wait == Wait::BusySpin {
            std::hint::spin_loop();
            return true;
        }
        match self.wait {
            Wait::Blocking => return false,
            Wait::Yielding => std::thread::yield_now(),
            _ if round < self.spins + YIELDS => return yielded_quickly() || self.wait == Wait::Sleeping,
            Wait::Sleeping => std::thread::sleep(NAP),
            _ => return false,
        }
        true
    }
}

/// Yields; false if somebody else took the core for long. Where others want the core as well, a few yields cost as many
/// of their time slices, and a parked thread is back sooner.
fn yielded_quickly() -> bool {
    let begun = Instant::now();
    std::thread::yield_now();
    begun.elapsed() < SLICE
}
