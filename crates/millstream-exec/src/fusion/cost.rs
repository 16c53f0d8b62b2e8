//! The cost of the numbers that go past the rings.

use std::time::Duration;

/// How many numbers go past the rings first, to measure their cost; while they are cheap, each batch is this many times
/// as long as the one before, up to [`LONGEST`].
const FIRST: usize = 1;
const GROWS: usize = 16;

/// A batch is shorter than this, as estimated from the one before it, and has at most [`MOST`] numbers.
const LONGEST: Duration = Duration::from_micros(25);
const MOST: usize = 1 << 16;

/// Compared with numbers that take this long, a slot costs nothing. They go through the slots, which shows whose time
/// it is: the source's, a stage's or the sink's. A batch may take some more, for a cold cache.
const DEAR: Duration = Duration::from_micros(1);
const COLD: Duration = Duration::from_micros(20);

/// The cost of the last numbers that went past the rings.
pub(super) struct Cost {
    /// The length of the next batch.
    most: usize,
    /// How many batches in a row were dear. One may be by chance, where others use the core.
    dear: u32,
}

impl Cost {
    pub(super) fn unknown() -> Self {
        Cost { most: FIRST, dear: 0 }
    }

    /// The most numbers of the next batch.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Notes how long a batch took. Returns whether the next one goes through the slots.
    pub(super) fn note(&mut self, numbers: usize, took: Duration) -> bool {
        if took <= COLD + DEAR * numbers as u32 {
            let in_time = LONGEST.as_nanos() * numbers as u128 / took.as_nanos().max(1);
            let most = numbers.saturating_mul(GROWS).min(in_time.try_into().unwrap_or(MOST));
            *self = Cost { most: most.clamp(FIRST, MOST), dear: 0 };
            return false;
        }
        self.dear += 1;
        let is_dear = self.dear > 1;
        if is_dear {
            *self = Cost::unknown();
        }
        is_dear
    }
}
