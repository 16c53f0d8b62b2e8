//! Whether the thread that feeds a run also runs its stages, or leaves them to the workers.
//!
//! Both ways are tried, and the faster one is kept for a [while](REST).

use crate::stages_on::StagesOn;
use std::time::{Duration, Instant};

/// The workers have their speed after this many windows: rings have filled up behind a slow stage.
const SETTLE: u32 = 8;
/// Both ways are compared again after this time, and then each time after twice as long, up to the longest.
const REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(2);

/// Decides by the time that windows take: these are runs of values of the same number, or times that are comparable in
/// another way.
#[derive(Debug)]
pub(crate) struct HereOrApart {
    on: StagesOn,
    /// Windows are fast if one takes at most this long. If they are slow, the workers run the stages.
    fast: Duration,
    way: Way,
    /// How many windows pass before one is measured.
    unsettled: u32,
    /// The time of the next comparison, and how long it is after the last one.
    next: Instant,
    rest: Duration,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// The workers run the stages.
    Apart,
    /// The thread runs them; in a comparison with the time that a window took with the workers.
    Here { against: Option<Duration> },
}

impl HereOrApart {
    /// Begins apart.
    pub(crate) fn new(on: StagesOn, fast: Duration, now: Instant) -> Self {
        HereOrApart { on, fast, way: Way::Apart, unsettled: SETTLE, next: now, rest: REST }
    }

    pub(crate) fn is_here(&self) -> bool {
        matches!(self.way, Way::Here { .. })
    }

    /// Whether both ways are open.
    pub(crate) fn compares(&self) -> bool {
        self.on == StagesOn::Faster
    }

    fn go(&mut self, way: Way) {
        self.unsettled = if way == Way::Apart { SETTLE } else { 1 };
        self.way = way;
    }

    /// The end of a window that took this long.
    pub(crate) fn passed(&mut self, now: Instant, took: Duration) {
        match self.on {
            StagesOn::Workers => return,
            StagesOn::Source => return self.go(Way::Here { against: None }),
            StagesOn::Faster => {}
        }
        if self.unsettled > 0 {
            self.unsettled -= 1;
            return;
        }
        let is_due = now >= self.next;
        match self.way {
            Way::Apart if is_due && took <= self.fast => self.go(Way::Here { against: Some(took) }),
            Way::Apart => {}
            Way::Here { against: Some(apart) } => {
                self.next = now + self.rest;
                self.rest = LONGEST_REST.min(2 * self.rest);
                if took > apart {
                    self.go(Way::Apart);
                } else {
                    self.way = Way::Here { against: None };
                }
            }
            Way::Here { against: None } if is_due || took > self.fast.saturating_mul(2) => self.go(Way::Apart),
            Way::Here { against: None } => {}
        }
    }

    /// The thread runs the stages without a comparison, unless the workers run them in any case.
    pub(crate) fn stay_here(&mut self) {
        if self.on != StagesOn::Workers {
            self.way = Way::Here { against: None };
            self.unsettled = 0;
        }
    }

    /// The workers have to run the stages for now.
    pub(crate) fn part(&mut self, now: Instant) {
        self.next = now + REST;
        self.go(Way::Apart);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// The values of a window.
    const WINDOW: u32 = 4096;

    fn begun(now: Instant) -> HereOrApart {
        HereOrApart::new(StagesOn::Faster, Duration::from_micros(1) * WINDOW, now)
    }

    /// Passes windows of this many nanoseconds a value, apart and here, and returns how many were here.
    fn windows(ways: &mut HereOrApart, now: &mut Instant, count: u32, apart: u32, here: u32) -> u32 {
        (0..count).fold(0, |sum, _| {
            let is_here = ways.is_here();
            let took = Duration::from_nanos(if is_here { here } else { apart }.into()) * WINDOW;
            *now += took;
            ways.passed(*now, took);
            sum + u32::from(is_here)
        })
    }

    #[test]
    fn the_faster_way_is_kept_and_compared_again() {
        let mut now = Instant::now();
        let mut ways = begun(now);
        assert_eq!(windows(&mut ways, &mut now, SETTLE + 1, 100, 60), 0);
        assert!(ways.is_here());
        // It stays here, except while both ways are compared.
        let here = windows(&mut ways, &mut now, 20_000, 100, 60);
        assert!((19_500..20_000).contains(&here), "{here}");
        assert_eq!(ways.rest, LONGEST_REST);
        // Then the stages become dear.
        let here = windows(&mut ways, &mut now, 20_000, 100, 160);
        assert!((0..5_000).contains(&here), "{here}");
        let here = windows(&mut ways, &mut now, 20_000, 100, 160);
        assert!((1..100).contains(&here), "{here}");
    }

    #[test]
    fn slow_values_are_handed_over() {
        let mut now = Instant::now();
        let mut ways = begun(now);
        assert_eq!(windows(&mut ways, &mut now, 1000, 1001, 10), 0);
        windows(&mut ways, &mut now, 1, 1000, 1000);
        assert!(ways.is_here());
        windows(&mut ways, &mut now, 2, 0, 1000);
        assert!(ways.is_here(), "no slower");
        windows(&mut ways, &mut now, 1, 0, 2001);
        assert!(!ways.is_here());
    }

    #[test]
    fn after_a_pause_of_the_source_values_are_handed_over_for_a_while() {
        let mut now = Instant::now();
        let mut ways = begun(now);
        windows(&mut ways, &mut now, SETTLE + 3, 100, 60);
        assert!(ways.is_here());
        ways.part(now);
        assert!(!ways.is_here());
        let before = REST.as_nanos() as u32 / (100 * WINDOW) - 1;
        assert_eq!(windows(&mut ways, &mut now, before, 100, 60), 0);
        assert!(windows(&mut ways, &mut now, SETTLE + 3, 100, 60) > 0);
    }

    #[test]
    fn a_thread_may_stay_and_is_compared_later() {
        let mut now = Instant::now();
        let mut ways = begun(now);
        ways.stay_here();
        assert_eq!(windows(&mut ways, &mut now, 1, 100, 160), 1);
        assert!(!ways.is_here(), "the workers were not measured");
        assert_eq!(windows(&mut ways, &mut now, SETTLE + 3, 100, 160), 2);
        assert!(!ways.is_here());
        // A comparison that the thread ends.
        let mut ways = begun(now);
        windows(&mut ways, &mut now, SETTLE + 1, 100, 160);
        ways.stay_here();
        ways.stay_here();
        assert!(ways.is_here());
    }

    #[test]
    fn one_way_alone_is_not_compared() {
        let mut now = Instant::now();
        for (on, here) in [(StagesOn::Workers, 0), (StagesOn::Source, 999)] {
            let mut ways = HereOrApart::new(on, Duration::from_secs(1), now);
            assert_eq!(windows(&mut ways, &mut now, 1000, 100, 100), here);
        }
    }
}
