//! The batching delay: a worker, or a poller, looks less often if that moves more.

use std::time::{Duration, Instant};

/// How long a thread may linger: not at all, or one of two times that are tried.
const TIMES: [Duration; 3] = [Duration::ZERO, Duration::from_nanos(350), Duration::from_micros(1)];
/// The looks of one trial of a time: those before it counts, which still find what came during another time, and those
/// that count.
const SETTLING: u32 = 4;
const LOOKS: u32 = 12;
/// The number of trials of each time, an odd one: the median is compared.
const ROUNDS: usize = 5;
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
    /// The rates of each of `TIMES`. A disturbance lowers a rate, or raises it if it came just before the trial: then
    /// its values count, and its time does not.
    rates: [[f64; ROUNDS]; TIMES.len()],
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
                self.phase = Phase::Trial(Trial::new(now()));
                self.left = SETTLING + LOOKS;
                0
            }
            Phase::Trial(trial) => {
                trial.found += values as u64;
                if self.left == LOOKS {
                    (trial.since, trial.found) = (now(), 0);
                    trial.time()
                } else if self.left == 0 {
                    self.left = SETTLING + LOOKS;
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
    fn new(since: Instant) -> Self {
        Trial { tried: 0, since, found: 0, rates: [[0.0; ROUNDS]; TIMES.len()] }
    }

    /// The index of the time that is tried now.
    fn time(&self) -> usize {
        self.tried % TIMES.len()
    }

    /// Records the trial of one time. Returns whether it was the last.
    #[cold]
    fn over(&mut self, now: Instant) -> bool {
        let moved = self.found as f64 / now.duration_since(self.since).as_secs_f64().max(1e-9);
        self.rates[self.tried % TIMES.len()][self.tried / TIMES.len()] = moved;
        (self.tried, self.since, self.found) = (self.tried + 1, now, 0);
        self.tried == ROUNDS * TIMES.len()
    }

    fn verdict(&self) -> usize {
        let medians = self.rates.map(|mut rates| {
            rates.sort_by(f64::total_cmp);
            rates[ROUNDS / 2]
        });
        (1..TIMES.len()).fold(0, |time, longer| if medians[longer] > GAIN * medians[time] { longer } else { time })
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
        disturbed(linger, looks, u32::MAX, found)
    }

    /// The same thread. Every `every`-th time that it reads the clock, it does not run for three microseconds before.
    fn disturbed(linger: &mut BatchingDelay, looks: u32, every: u32, found: impl Fn(u64) -> u64) -> Vec<Duration> {
        let (mut now, mut last, mut away, mut read) = (Instant::now(), 0, 0, 0_u32);
        let look = |_| {
            now += Duration::from_nanos(last + LOOK);
            let values = found(last + std::mem::take(&mut away));
            let lingers = linger.found(values as usize, || {
                read += 1;
                if read.is_multiple_of(every) {
                    away = 3000;
                    now += Duration::from_nanos(away);
                }
                now
            });
            last = lingers.map_or(0, |time| time.as_nanos() as u64);
            Duration::from_nanos(last)
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
    fn values_of_a_disturbance_do_not_count_for_the_next_trial() {
        for every in [5, 7, 11, 13] {
            let times = disturbed(&mut BatchingDelay::new(), 200_000, every, |time| 1 + time.saturating_sub(100) / 10);
            assert!(share_of(&times, TIMES[2]) > 0.9, "one reading in {every}: {}", share_of(&times, TIMES[2]));
        }
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
