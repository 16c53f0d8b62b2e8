//! Ticks by virtual clocks, without real waits.

use millstream_core::{Arrow, pipeline};
use millstream_exec::JobExt;
use millstream_io::time::{Clock, Ticks, VirtualClock};
use std::cell::RefCell;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// A clock that sometimes wakes a sleeper too early, and records the sleeps.
#[derive(Default)]
struct Restless {
    time: VirtualClock,
    slept: RefCell<Vec<Duration>>,
}

impl Clock for &Restless {
    fn now(&self) -> Duration {
        self.time.now()
    }

    fn sleep(&self, time: Duration) {
        self.slept.borrow_mut().push(time);
        let early = self.slept.borrow().len() % 2 == 1;
        self.time.sleep(if early { time / 2 } else { time });
    }
}

#[test]
fn ticks_come_when_they_are_due() {
    let clock = VirtualClock::default();
    clock.advance(100 * SECOND);
    let mut ticks = Ticks::by(clock.clone(), SECOND);
    clock.advance(100 * SECOND);
    for n in 1..=5 {
        assert_eq!(ticks.next(), Some(n * SECOND));
        assert_eq!(clock.now(), (200 + n) * SECOND, "counted from the first request");
    }
}

#[test]
fn late_ticks_come_at_once_and_nothing_drifts() {
    let clock = VirtualClock::default();
    let mut ticks = Ticks::by(clock.clone(), SECOND);
    assert_eq!(ticks.next(), Some(SECOND));
    clock.advance(SECOND * 7 / 2); // 4.5 s
    for n in 2..=4 {
        assert_eq!(ticks.next(), Some(n * SECOND));
        assert_eq!(clock.now(), SECOND * 9 / 2, "it was due");
    }
    assert_eq!(ticks.next(), Some(5 * SECOND));
    assert_eq!(clock.now(), 5 * SECOND);
}

#[test]
fn a_sleep_that_was_too_short_goes_on() {
    let clock = Restless::default();
    let mut ticks = Ticks::by(&clock, 2 * SECOND);
    assert_eq!(ticks.next(), Some(2 * SECOND));
    assert_eq!(*clock.slept.borrow(), [2 * SECOND, SECOND]);
    assert_eq!(clock.time.now(), 2 * SECOND);
}

#[test]
fn the_last_tick_is_the_last_duration() {
    let half = Duration::MAX / 2;
    assert!(Ticks::by(VirtualClock::default(), half).eq([half, half * 2]));
}

#[test]
#[should_panic(expected = "must be longer than 0")]
fn an_interval_of_nothing_is_refused() {
    let _ = Ticks::by(VirtualClock::default(), Duration::ZERO);
}

#[test]
fn ticks_are_a_source() {
    let p = pipeline::<Duration>().map(|due| due.as_secs());
    let days = Ticks::by(VirtualClock::default(), 86_400 * SECOND).take(3);
    assert_eq!(p.collect(days).unwrap(), [86_400, 172_800, 259_200]);
}
