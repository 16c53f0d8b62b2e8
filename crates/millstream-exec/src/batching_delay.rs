//! The batching delay: a worker, or a poller, looks less often if that moves more.

use std::time::{Duration, Instant};

/// How long a thread may linger: not at all, or one of two times that are tried.
const TIMES: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(350), Duration::from_micros(1)];
/// The looks of one trial of a time, and the number of trials of each time.
const LOOKS: u32 = 8;
const ROUNDS: usize = 4;
/// A longer delay must raise throughput by this factor over a shorter one.
const GAIN: f64 = 1.1;
/// A thread that finds this many values does not linger before the next look.
const ENOUGH: usize = 512;
/// The looks until the next trial: at first, and at most.
const SOON: u32 = 1024;
const LATE: u32 = 65_536;

/// How long a thread that finds few values lingers before it looks again.
///
/// A look takes the cursor's cache line from the producer, and publishing takes it back: if a consumer keeps up with
/// its producer, both pay that for every value or two. A consumer that lingers lets the producer publish undisturbed,
/// and finds more values at a time. But lingering only delays if the producer waits for an answer, or if the ring fills
/// up meanwhile. Trials therefore compare the rates now and then: a thread lingers only if that moves more.
#[derive(Debug)]
pub(crate) struct BatchingDelay {
    phase: Phase,
    /// Looks left in this phase.
    left: u32,
    /// The number of looks for which the last verdict holds.
    kept: u32,
    /// An index into `TIMES`.
    verdict: usize,
}

#[derive(Debug)]
enum Phase {
    Trial(Trial),
    Decided,
}

#[derive(Debug)]
struct Trial {
    /// The number of trials done.
    tried: usize,
    since: Instant,
    found: u64,
    /// The best rate of each of `TIMES`: disturbances between two looks only lower a rate.
    best: [f64; TIMES.len()],
}

impl BatchingDelay {
    pub(crate) fn new() -> Self {
        BatchingDelay { phase: Phase::Decided, left: SOON / 8, kept: SOON / 2, verdict: 0 }
    }

    /// Records that a look found `values` values. Returns how long to linger before the next look.
    #[inline]
    pub(crate) fn after(&mut self, values: usize) -> Option<Duration> {
        self.found(values, Instant::now)
    }

    #[inline]
    fn found(&mut self, values: usize, now: impl FnOnce() -> Instant) -> Option<Duration> {
        self.left -= 1;
        let time = match &mut self.phase {
            Phase::Decided if self.left > 0 => self.verdict,
            Phase::Decided => {
                self.phase = Phase::Trial(Trial { tried: 0, since: now(), found: 0, best: [0.0; TIMES.len()] });
                self.left = LOOKS;
                0
            }
            Phase::Trial(trial) => {
                trial.found += values as u64;
                if self.left == 0 {
                    self.left = LOOKS;
                    if trial.over(now()) {
                        let verdict = trial.verdict();
                        self.decide(verdict);
                        self.verdict
                    } else {
                        trial.time()
                    }
                } else {
                    trial.time()
                }
            }
        };
        (time > 0 && values < ENOUGH).then(|| TIMES[time])
    }

    fn decide(&mut self, verdict: usize) {
        self.kept = if self.verdict == verdict { (2 * self.kept).min(LATE) } else { SOON };
        (self.phase, self.left, self.verdict) = (Phase::Decided, self.kept, verdict);
    }

    /// Forgets the verdict after a long time without values, since it was made under load.
    pub(crate) fn forget(&mut self) {
        *self = BatchingDelay::new();
    }
}

impl Trial {
    /// The index of the time that is tried now.
    fn time(&self) -> usize {
        self.tried % TIMES.len()
    }

    /// Records the trial of one time. Returns whether it was the last.
    #[cold]
    fn over(&mut self, now: Instant) -> bool {
        let moved = self.found as f64 / now.duration_since(self.since).as_secs_f64().max(1e-9);
        let best = &mut self.best[self.tried % TIMES.len()];
        *best = best.max(moved);
        (self.tried, self.since, self.found) = (self.tried + 1, now, 0);
        self.tried == ROUNDS * TIMES.len()
    }

    fn verdict(&self) -> usize {
        (1..TIMES.len()).fold(0, |time, longer| if self.best[longer] > GAIN * self.best[time] { longer } else { time })
    }
}

/// Spins until `then`.
pub(crate) fn linger_until(then: Instant) {
    while Instant::now() < then {
        std::hint::spin_loop();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The cost of a look, in nanoseconds.
    const LOOK: u64 = 40;

    /// How long a thread lingers after each of `looks` looks; `found` maps the nanoseconds it lingered to the values it
    /// finds.
    fn lingered(linger: &mut BatchingDelay, looks: u32, found: impl Fn(u64) -> u64) -> Vec<Duration> {
        let (mut now, mut last) = (Instant::now(), Duration::ZERO);
        let look = |_| {
            now += last + Duration::from_nanos(LOOK);
            last = linger.found(found(last.as_nanos() as u64) as usize, || now).unwrap_or(Duration::ZERO);
            last
        };
        (0..looks).map(look).collect()
    }

    fn share_of(lingered: &[Duration], time: Duration) -> f64 {
        lingered.iter().filter(|lingered| **lingered == time).count() as f64 / lingered.len() as f64
    }

    fn mostly(found: impl Fn(u64) -> u64) -> Duration {
        let lingered = lingered(&mut BatchingDelay::new(), 200_000, found);
        let share = |time: &Duration| share_of(&lingered, *time);
        let most = TIMES.into_iter().max_by(|one, other| share(one).total_cmp(&share(other))).unwrap_or_default();
        assert!(share(&most) > 0.98, "{most:?}: {}", share(&most));
        most
    }

    #[test]
    fn a_consumer_of_fixed_windows_does_not_linger() {
        for window in [1, 8, 500, 5000] {
            assert_eq!(mostly(|_| window), Duration::ZERO, "window of {window}");
        }
    }

    #[test]
    fn a_consumer_whose_rate_stays_the_same_does_not_linger() {
        for every in [1, 10, 40] {
            assert_eq!(mostly(|time| (time + LOOK) / every), Duration::ZERO, "one in {every} ns");
        }
    }

    #[test]
    fn a_consumer_that_disturbs_its_producer_lingers() {
        // A value costs the producer 10 ns and a look 100 ns; or 2 ns and 60 ns with a small ring.
        assert_eq!(mostly(|time| 1 + time.saturating_sub(100) / 10), TIMES[2]);
        assert_eq!(mostly(|time| 10 + time.saturating_sub(60).min(300) / 2), TIMES[1]);
    }

    #[test]
    fn a_consumer_whose_producer_waits_for_room_does_not_linger() {
        for ring in [1, 8, 32] {
            assert_eq!(mostly(|time| (2 + time / 24).min(ring)), Duration::ZERO, "ring of {ring}");
        }
    }

    #[test]
    fn a_consumer_that_finds_enough_does_not_linger() {
        let mut linger = BatchingDelay::new();
        assert!(lingered(&mut linger, 10_000, |time| 1 + time.saturating_sub(100) / 10).contains(&TIMES[2]));
        assert_eq!(lingered(&mut linger, 1, |_| ENOUGH as u64), [Duration::ZERO]);
    }

    #[test]
    fn a_verdict_is_forgotten() {
        let mut linger = BatchingDelay::new();
        assert_eq!(lingered(&mut linger, 10_000, |time| 1 + time.saturating_sub(100) / 10).last(), Some(&TIMES[2]));
        linger.forget();
        assert_eq!(share_of(&lingered(&mut linger, SOON / 8 - 1, |_| 1), Duration::ZERO), 1.0);
    }
}
