use super::{Clock, SystemClock, wait_until};
use std::time::Duration;

/// A tick every so often, without an end. See [`ticks`].
#[derive(Clone, Debug)]
pub struct Ticks<C = SystemClock> {
    every: Duration,
    /// When the next tick is due, from `begun` on; none behind the last that a `Duration` can tell.
    due: Option<Duration>,
    /// What the clock showed when the first tick was asked for.
    begun: Option<Duration>,
    clock: C,
}

/// A tick every `every`, without an end: a source that waits, so not one to be called `ready`.
///
/// A tick is a `Duration`: when it was due, counted from when the first one was asked for. Tick n is due at
/// (n + 1) `every`, whatever the ticks before it took: nothing drifts. Whoever asks late gets the ticks that are due at
/// once, one after the other, and none is left out; so the values are the same in every run, and only the waiting
/// differs. Nothing is kept of ticks that nobody has asked for.
///
/// The run is ended by its handle, or by `take`, here or in the pipeline.
///
/// ```
/// use millstream_io::time::ticks;
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
    /// As [`ticks`], by a clock of one's own; in tests, of virtual time.
    ///
    /// ```
    /// use millstream_io::time::{Ticks, VirtualClock};
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
        assert!(!every.is_zero(), "an interval needs a length");
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
