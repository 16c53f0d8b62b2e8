//! Silence is measured by a clock that leaves out the times in which the master did not look at its sockets.
//!
//! The master's one thread is the program's. Between two rounds it does other work, and sends nothing. Silence alone
//! therefore ends no worker, and neither a paused master nor a long message makes a worker look silent. A worker's
//! silence begins when it begins to owe an answer, and begins again with every byte that it sends or takes. It is
//! measured only up to a moment by which the master has read everything that had arrived. In a round, or while it waits
//! for workers, the master sends a sign of life to each worker that it has sent nothing for ten seconds, its own
//! absence included. A worker can be given a limit for silence; `evolve-worker` takes ten minutes.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// A longer step of the clock does not count: the process was stopped, or its thread did other work. While the master
/// waits, it reads the clock more often than that.
const AWAY: Duration = Duration::from_secs(1);

/// The time since a population began, without the times in which the master did not look at its sockets. The master's
/// own absence therefore does not count as a worker's silence.
#[derive(Debug)]
pub(super) struct Clock {
    began: Instant,
    /// When it was last read, and how much of the time until then does not count.
    last: Cell<Duration>,
    away: Cell<Duration>,
    #[cfg(test)]
    skipped: Cell<Duration>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Clock {
            began: Instant::now(),
            last: Cell::default(),
            away: Cell::default(),
            #[cfg(test)]
            skipped: Cell::default(),
        }
    }

    /// The time of the last `now`, with all absences.
    pub(super) fn real(&self) -> Duration {
        self.last.get()
    }

    pub(super) fn now(&self) -> Duration {
        let now = self.began.elapsed();
        #[cfg(test)]
        let now = now + self.skipped.get();
        self.at(now)
    }

    fn at(&self, now: Duration) -> Duration {
        let step = now - self.last.replace(now);
        if step > AWAY {
            self.away.set(self.away.get() + step);
        }
        now - self.away.get()
    }

    /// Moves the clock forward by this time.
    #[cfg(test)]
    pub(super) fn skip(&self, time: Duration) {
        self.skipped.set(self.skipped.get() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_absence_does_not_count_and_the_clock_never_goes_back() {
        let clock = Clock::new();
        let looks = [0, 900, 1_800, 61_000, 61_500, 999_000, 999_700].map(Duration::from_millis);
        let shown = looks.map(|look| clock.at(look).as_millis());
        assert_eq!(shown, [0, 900, 1_800, 1_800, 2_300, 2_300, 3_000]);
    }
}
