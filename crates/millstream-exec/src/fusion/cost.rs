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

/// A step past the rings takes as long as the slots of this many cheap numbers.
pub(crate) const LEAST_PAST: usize = 64;

/// If this many steps in a row moved fewer numbers than [`LEAST_PAST`], so few come at once.
const FEW_STEPS: u32 = 16;

/// Whether numbers come a few at a time, from the steps past the rings.
#[derive(Default)]
pub(super) struct Few {
    /// How many of the last steps, in a row, moved few numbers.
    steps: u32,
}

impl Few {
    /// Notes how many numbers a step moved. Returns whether the next ones go through the slots.
    pub(super) fn note(&mut self, moved: usize) -> bool {
        match moved {
            0 => return false,
            1..LEAST_PAST => self.steps += 1,
            _ => self.steps = 0,
        }
        let few = self.steps == FEW_STEPS;
        if few {
            self.steps = 0;
        }
        few
    }
}

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
        let dear = self.dear + 1;
        let is_dear = dear > 1;
        // The next one of as many numbers could take as long.
        *self = if is_dear { Cost::unknown() } else { Cost { most: FIRST, dear } };
        is_dear
    }
}

#[cfg(test)]
mod tests {
    use super::{FEW_STEPS, Few, LEAST_PAST};

    #[test]
    fn numbers_come_a_few_at_a_time_if_many_steps_in_a_row_moved_few() {
        let mut few = Few::default();
        let mut after = |moved: &[usize]| moved.iter().map(|moved| few.note(*moved)).collect::<Vec<_>>();
        let mut expected = vec![false; FEW_STEPS as usize];
        expected[FEW_STEPS as usize - 1] = true;
        assert_eq!(after(&[1; FEW_STEPS as usize]), expected);
        // One large step begins again, and a step that moved nothing says nothing.
        assert!(!after(&[LEAST_PAST - 1; FEW_STEPS as usize - 1]).contains(&true));
        assert_eq!(after(&[LEAST_PAST, 1]), [false; 2]);
        assert!(!after(&[1; FEW_STEPS as usize - 2]).contains(&true));
        assert_eq!(after(&[0, 1]), [false, true]);
    }
}
