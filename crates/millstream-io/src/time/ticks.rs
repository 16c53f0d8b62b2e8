use super::{Clock, SystemClock, wait_until};
use std::time::Duration;

/// Ticks at a fixed interval, without an end. See [`ticks`].
#[derive(Clone, Debug)]
pub struct Ticks<C = SystemClock> {
    every: Duration,
    /// When the next tick is due, since `begun`; `None` after the last one that a `Duration` can hold.
    due: Option<Duration>,
    /// The time of the first request.
    begun: Option<Duration>,
    clock: C,
}

/// A tick every `every`, without an end. It waits, so it may not be declared `ready`.
///
/// A tick is a `Duration`: the time at which it was due, since the request of the first one. Tick n is due at (n + 1)
/// `every`, whatever the time of earlier ticks, so nothing drifts. A late reader gets all ticks that are due at once,
/// one after the other. Thus the values are the same in every run, and only the waits differ. Ticks that were not
/// requested take no memory.
///
/// The run ends by its handle, or by `take`, of the iterator or in the pipeline.
///
/// ```
/// use millstream::io::time::ticks;
/// use std::time::Duration;
///
/// let milliseconds = ticks(Duration::from_millis(1)).take(3);
/// assert!(milliseconds.eq([1, 2, 3].map(Duration::from_millis)));
/// ```
///
/// # Panics
///
/// If `every` is zero.
pub fn ticks(every: Duration) -> Ticks {
    Ticks::by(SystemClock::default(), every)
}

impl<C: Clock> Ticks<C> {
    /// As [`ticks`], with this clock; for example a virtual one in tests.
    ///
    /// ```
    /// use millstream::io::time::{Ticks, VirtualClock};
    /// use std::time::Duration;
    ///
    /// let hour = Duration::from_secs(3600);
    /// let mut hours = Ticks::by(VirtualClock::default(), hour);
    /// assert_eq!(hours.nth(23), Some(24 * hour)); // at once
    /// ```
    ///
    /// # Panics
    ///
    /// If `every` is zero.
    pub fn by(clock: C, every: Duration) -> Self {
        assert!(!every.is_zero(), "an interval must be longer than 0");
        Ticks { every, due: Some(every), begun: None, clock }
    }
}

impl<C: Clock> Iterator for Ticks<C> {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        let due = self.due?;
        let begun = *self.begun.get_or_insert_with(|| self.clock.now());
        wait_until(&self.clock, begun.saturating_add(due));
        self.due = due.checked_add(self.every);
        Some(due)
    }
}
