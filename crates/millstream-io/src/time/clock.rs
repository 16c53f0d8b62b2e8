use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// What tells the time and lets a thread wait for it.
pub trait Clock {
    /// How long ago the clock's own beginning was. Never less than it was before.
    fn now(&self) -> Duration;

    /// Comes back when `time` has gone by on this clock, or later.
    fn sleep(&self, time: Duration);
}

/// Comes back when the clock shows `time`, or later; says what it shows.
pub(crate) fn wait_until(clock: &impl Clock, time: Duration) -> Duration {
    loop {
        let now = clock.now();
        match time.checked_sub(now) {
            Some(left) if !left.is_zero() => clock.sleep(left),
            _ => return now,
        }
    }
}

/// The machine's own time, from when the clock was made. It only goes forward.
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

/// A clock for tests: it stands still until somebody sleeps by it or [advances](VirtualClock::advance) it, and a
/// sleep is over at once, with the clock so much further. Clones show the same time.
///
/// ```
/// use millstream_io::time::{Clock, VirtualClock};
/// use std::time::Duration;
///
/// let clock = VirtualClock::default();
/// clock.sleep(Duration::from_secs(3600));
/// assert_eq!(clock.now(), Duration::from_secs(3600));
/// ```
#[derive(Clone, Debug, Default)]
pub struct VirtualClock(Arc<Mutex<Duration>>);

impl VirtualClock {
    /// Lets `time` go by.
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
