//! Whether other threads want the cores that a run's threads wait on.
//!
//! If another process wants a core, a yield costs a time slice, and so does a wake-up that finds the core taken. A
//! worker that waited a millisecond for its core reports it. For some time after that, threads that wait `phased` park
//! at once: a parked thread is back as soon as it has work, instead of a slice later.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The time for which an observation holds: at first, and at most.
const FIRST: Duration = Duration::from_millis(50);
const LONGEST: Duration = Duration::from_secs(1);

/// What a run has seen of other threads on its cores. Each observation counts for [`FIRST`]; while the others stay,
/// each time for twice as long, up to [`LONGEST`], since looking for them again costs a time slice.
#[derive(Debug)]
pub(crate) struct Contention {
    since: Instant,
    /// The end of that time, in microseconds after `since`; 0 if nothing was seen, or long ago.
    until: AtomicU64,
    /// How long it held the last time.
    held: AtomicU64,
}

impl Contention {
    pub(crate) fn new() -> Self {
        Contention { since: Instant::now(), until: AtomicU64::new(0), held: AtomicU64::new(0) }
    }

    /// Notes that a thread had to wait for its core because another process used it.
    #[cold]
    pub(crate) fn noticed(&self) {
        self.noticed_at(self.since.elapsed());
    }

    /// Whether other processes use the cores, as far as is known. While they do not, this costs one load.
    #[inline]
    pub(crate) fn holds(&self) -> bool {
        self.until.load(Ordering::Relaxed) > 0 && self.holds_at(self.since.elapsed())
    }

    fn noticed_at(&self, at: Duration) {
        let (at, until, held) = (micros(at), self.until.load(Ordering::Relaxed), self.held.load(Ordering::Relaxed));
        if at < until {
            return;
        }
        let again = until > 0 && at < until + held;
        let hold = if again { (held * 2).min(micros(LONGEST)) } else { micros(FIRST) };
        self.held.store(hold, Ordering::Relaxed);
        self.until.store(at + hold, Ordering::Relaxed);
    }

    fn holds_at(&self, at: Duration) -> bool {
        let (at, until) = (micros(at), self.until.load(Ordering::Relaxed));
        if at >= until + self.held.load(Ordering::Relaxed) {
            // Expired: clears the observation, so that further calls read no clock.
            self.until.store(0, Ordering::Relaxed);
        }
        at < until
    }
}

fn micros(time: Duration) -> u64 {
    time.as_micros().try_into().unwrap_or(u64::MAX / 4)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::{Contention, FIRST, LONGEST};
    use std::sync::atomic::Ordering;
    use std::time::Duration;

    const TICK: Duration = Duration::from_micros(1);

    #[test]
    fn an_observation_holds_for_some_time() {
        let contention = Contention::new();
        assert!(!contention.holds());
        let at = Duration::from_secs(3);
        contention.noticed_at(at);
        assert!(contention.holds_at(at) && contention.holds_at(at + FIRST - TICK) && !contention.holds_at(at + FIRST));
        // Two threads see the same neighbours.
        contention.noticed_at(at + FIRST / 2);
        assert!(!contention.holds_at(at + FIRST));
        // Long afterwards nothing is known, and the clock is not read.
        assert!(!contention.holds_at(at + FIRST * 2));
        assert_eq!(contention.until.load(Ordering::Relaxed), 0);
    }

    #[test]
    fn an_observation_that_repeats_holds_longer() {
        let contention = Contention::new();
        let mut at = Duration::from_secs(1);
        let mut holds = Vec::new();
        for _ in 0..8 {
            contention.noticed_at(at);
            let begun = at;
            while contention.holds_at(at) {
                at += Duration::from_millis(1);
            }
            holds.push((at - begun).as_millis() as u64);
            at += Duration::from_millis(3);
        }
        assert_eq!(holds, [50, 100, 200, 400, 800, 1000, 1000, 1000]);
        // They are gone for longer than that, and come back.
        at += LONGEST + Duration::from_millis(10);
        assert!(!contention.holds_at(at));
        contention.noticed_at(at);
        assert!(contention.holds_at(at + FIRST - TICK) && !contention.holds_at(at + FIRST));
    }
}
