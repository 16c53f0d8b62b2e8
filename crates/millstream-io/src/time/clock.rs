use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A source of time that a thread can sleep by.
pub trait Clock {
    /// The time since the clock's beginning. It never decreases.
    fn now(&self) -> Duration;

    /// Returns once `time` has gone by on this clock, or later.
    fn sleep(&self, time: Duration);
}

/// Returns once the clock shows `time`, or later. Returns what it shows then.
pub(crate) fn wait_until(clock: &impl Clock, time: Duration) -> Duration {
    loop {
        let now = clock.now();
        match time.checked_sub(now) {
            Some(left) if !left.is_zero() => clock.sleep(left),
            _ => return now,
        }
    }
}

/// The machine's monotonic time since this clock was made.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }
}

/// A clock for tests. It advances only by a sleep or by [`advance`](VirtualClock::advance). A sleep returns at once,
/// and advances the clock by its time. Clones share their time.
///
/// ```
/// use millstream::io::time::{Clock, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::default();
/// clock.sleep(Duration::from_secs(3600));
/// assert_eq!(clock.now(), Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<Duration>>);

impl VirtualClock {
    /// Advances the clock by `time`.
    pub fn advance(&self, time: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) += time;
    }
}

impl Clock for VirtualClock {
    fn now(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep(&self, time: Duration) {
        self.advance(time);
    }
}
