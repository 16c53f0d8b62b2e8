//! The batching delay: a worker, or a poller, looks less often where that moves more.

use std::time::{Duration, Instant};

/// The delays that are tried, none among them.
const TIMES: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(350), Duration::from_micros(1)];
/// Looks with one of them, and how often a trial goes through all.
const LOOKS: u32 = 8;
const ROUNDS: usize = 4;
/// A longer delay must raise the rate by this factor over a shorter one.
const GAIN: f64 = 1.1;
/// After a look that found this much there is no delay.
const ENOUGH: usize = 512;
/// Looks to the next trial: at first, and at most.
const SOON: u32 = 1024;
const LATE: u32 = 65_536;

/// The delay of a thread that has found a little, before it looks again.
///
/// A look moves the cache line of the cursor to the reader, and publishing moves it back to the writer. A consumer that
/// keeps up with its producer makes both pay that for every value or two. With a delay between two looks the producer
/// publishes undisturbed, and the consumer finds more at a time. But where the producer is slower, waits for an answer, or
/// has filled the ring meanwhile, a delay only costs time. So the rate decides, in a trial now and then: a delay that does
/// not move more numbers per second is not used.
#[derive(Debug)]
pub(crate) struct BatchingDelay {
    phase: Phase,
    /// Looks left of this phase.
    left: u32,
    /// Looks for which the last verdict holds.
    kept: u32,
    /// An index of `TIMES`.
    verdict: usize,
}

#[derive(Debug)]
enum Phase {
    Trial(Trial),
    Decided,
}

#[derive(Debug)]
struct Trial {
    /// How often some time was tried.
    tried: usize,
    since: Instant,
    found: u64,
    /// The most that each of `TIMES` has moved in a second: what came between two looks by chance only makes it less.
    best: [f64; TIMES.len()],
}

impl BatchingDelay {
    pub(crate) fn new() -> Self {
        BatchingDelay { phase: Phase::Decided, left: SOON / 8, kept: SOON / 2, verdict: 0 }
    }

    /// So much was found. How long to linger before the next look.
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

    /// There was nothing for long: what held while much came says nothing any more.
    pub(crate) fn forget(&mut self) {
        *self = BatchingDelay::new();
    }
}

impl Trial {
    /// Which of `TIMES` is tried now.
    fn time(&self) -> usize {
        self.tried % TIMES.len()
    }

    /// One time was tried; whether this was the last one.
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

/// Does nothing until then, on this core.
pub(crate) fn linger_until(then: Instant) {
    while Instant::now() < then {
        std::hint::spin_loop();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// What a look costs the one who looks.
    const LOOK: u64 = 40;

    /// How long it lingers after each of so many looks, where `found` says what a look finds after so many nanoseconds.
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
    fn one_who_gets_so_much_at_a_time_and_no_more_does_not_linger() {
        for window in [1, 8, 500, 5000] {
            assert_eq!(mostly(|_| window), Duration::ZERO, "window of {window}");
        }
    }

    #[test]
    fn one_who_finds_as_much_a_second_either_way_does_not_linger() {
        for every in [1, 10, 40] {
            assert_eq!(mostly(|time| (time + LOOK) / every), Duration::ZERO, "one in {every} ns");
        }
    }

    #[test]
    fn one_who_disturbs_the_producer_lingers() {
        // A value costs the producer 10 ns and a look 100; or 2 and 60, and the ring is small.
        assert_eq!(mostly(|time| 1 + time.saturating_sub(100) / 10), TIMES[2]);
        assert_eq!(mostly(|time| 10 + time.saturating_sub(60).min(300) / 2), TIMES[1]);
    }

    #[test]
    fn one_whose_producer_waits_for_room_meanwhile_does_not_linger() {
        for ring in [1, 8, 32] {
            assert_eq!(mostly(|time| (2 + time / 24).min(ring)), Duration::ZERO, "ring of {ring}");
        }
    }

    #[test]
    fn whoever_finds_enough_does_not_linger() {
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
