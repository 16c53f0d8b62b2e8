//! Looking less often where that brings more.

use std::time::{Duration, Instant};

/// How long a thread lingers,
const SHORT: Duration = Duration::from_nanos(350);
/// and how long where it finds less than `MANY` after that.
const LONG: Duration = Duration::from_micros(1);
const MANY: u64 = 128;
/// Looks of a trial without lingering, and as many with it.
const TRIAL: u32 = 16;
/// So many times as much has to be found after lingering.
const GAIN: u64 = 2;
/// Whoever finds so much at a look has no reason to linger.
const ENOUGH: u64 = 512;
/// Looks to the next trial: at first, and at most.
const SOON: u32 = 1024;
const LATE: u32 = 65_536;

/// Whether a thread that has found a little lingers before it looks again.
///
/// A look takes the line with the cursor away from whoever publishes, and publishing takes it back: a consumer that keeps up
/// with its producer has both of them pay that for every value or two. One that lingers finds more at a time, and the producer
/// publishes undisturbed meanwhile. But where nothing more comes before there is an answer, lingering brings nothing and delays
/// the answer. Which of the two it is shows in a trial: some looks without and some with it, now and then.
#[derive(Debug)]
pub(crate) struct Linger {
    phase: Phase,
    /// Looks left of this phase.
    left: u32,
    /// In this phase.
    found: u64,
    /// Looks for which the last verdict holds.
    kept: u32,
    verdict: Option<Duration>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Without,
    /// And as much was found without.
    With(u64),
    Decided,
}

impl Linger {
    pub(crate) fn new() -> Self {
        Linger { phase: Phase::Without, left: TRIAL, found: 0, kept: SOON / 2, verdict: None }
    }

    /// So much was found. Lingers before the next look, if that pays.
    #[inline]
    pub(crate) fn after(&mut self, values: usize) {
        let Some(time) = self.found(values) else { return };
        let begun = Instant::now();
        while begun.elapsed() < time {
            std::hint::spin_loop();
        }
    }

    /// So much was found; how long to linger before the next look, if at all.
    #[inline]
    fn found(&mut self, values: usize) -> Option<Duration> {
        self.found += values as u64;
        self.left -= 1;
        if self.left == 0 {
            self.next_phase();
        }
        match self.phase {
            Phase::Without => None,
            Phase::With(_) => Some(SHORT),
            Phase::Decided => self.verdict,
        }
    }

    #[cold]
    fn next_phase(&mut self) {
        let found = std::mem::take(&mut self.found);
        let trials = u64::from(TRIAL);
        (self.phase, self.left) = match self.phase {
            Phase::Without if found < ENOUGH * trials => (Phase::With(found), TRIAL),
            Phase::Without => self.decided(None),
            Phase::With(without) if found < GAIN * without => self.decided(None),
            Phase::With(_) => self.decided(Some(if found < MANY * trials { LONG } else { SHORT })),
            Phase::Decided => (Phase::Without, TRIAL),
        };
    }

    fn decided(&mut self, verdict: Option<Duration>) -> (Phase, u32) {
        self.kept = if self.verdict == verdict { (2 * self.kept).min(LATE) } else { SOON };
        self.verdict = verdict;
        (Phase::Decided, self.kept)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How long it lingers after each of so many looks, where `found` says what a look finds after lingering so long.
    fn lingered(looks: u32, found: impl Fn(Duration) -> usize) -> Vec<Duration> {
        let (mut linger, mut last) = (Linger::new(), Duration::ZERO);
        let look = |_| {
            last = linger.found(found(last)).unwrap_or(Duration::ZERO);
            last
        };
        (0..looks).map(look).collect()
    }

    fn part_of(lingered: &[Duration], time: Duration) -> f64 {
        lingered.iter().filter(|lingered| **lingered == time).count() as f64 / lingered.len() as f64
    }

    #[test]
    fn one_who_gets_one_answer_at_a_time_does_not_linger() {
        let of_windows = |window: usize| lingered(200_000, move |_| window);
        for window in [1, 8, 500, 5000] {
            let lingered = of_windows(window);
            assert!(part_of(&lingered, Duration::ZERO) > 0.995, "window of {window}");
            // A trial of more looks says nothing.
            assert_eq!(part_of(&lingered, LONG), 0.0, "window of {window}");
        }
    }

    #[test]
    fn one_who_finds_little_of_much_that_comes_lingers() {
        let of_rate = |every: u64| lingered(200_000, move |time| 1 + (time.as_nanos() as u64 / every) as usize);
        assert!(part_of(&of_rate(25), LONG) > 0.995);
        assert!(part_of(&of_rate(1), SHORT) > 0.995);
        // Less comes in that time than was there without it.
        assert!(part_of(&of_rate(400), Duration::ZERO) > 0.995);
    }

    #[test]
    fn a_verdict_that_proves_wrong_is_soon_another() {
        let mut linger = Linger::new();
        let busy = |linger: &mut Linger| {
            (0..100_000).fold(0, |last, _| linger.found(1 + last / 25).map_or(0, |time| time.as_nanos() as usize))
        };
        assert_eq!(busy(&mut linger), LONG.as_nanos() as usize);
        let trial = (0..=LATE + 2 * TRIAL).position(|_| linger.found(1).is_none());
        assert!(trial.is_some());
        let calm: Vec<_> = (0..3 * TRIAL).map(|_| linger.found(1)).collect();
        assert_eq!(calm.last(), Some(&None));
    }
}
