/// Draws keys by Zipf's law.
#[derive(Clone, Debug)]
pub(super) enum Keys {
    Even(u32),
    /// For each key the least number beyond its range; ranges follow each other.
    Skewed(Box<[u64]>),
}

impl Keys {
    pub(super) fn new(keys: u32, skew: f64) -> Self {
        if skew == 0.0 || keys == 1 {
            return Keys::Even(keys);
        }
        let weight = |key: u32| (f64::from(key) + 1.0).powf(-skew);
        let all: f64 = (0..keys).map(weight).sum();
        let mut below = 0.0;
        let part = |key| {
            below += weight(key);
            // Two to the power of 64. A larger float is converted to the largest number.
            (below / all * 18_446_744_073_709_551_616.0) as u64
        };
        let mut ends: Box<[u64]> = (0..keys).map(part).collect();
        // The last key gets the remainder of the rounding.
        ends[keys as usize - 1] = u64::MAX;
        Keys::Skewed(ends)
    }

    /// The key whose range has this random number.
    pub(super) fn draw(&self, random: u64) -> u32 {
        match self {
            Keys::Even(keys) => ((u128::from(random) * u128::from(*keys)) >> 64) as u32,
            Keys::Skewed(ends) => ends[..ends.len() - 1].partition_point(|end| *end <= random) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_range_is_shared_out() {
        for keys in [Keys::new(3, 0.0), Keys::new(3, 1.0), Keys::new(3, 40.0)] {
            assert_eq!(keys.draw(0), 0);
        }
        for keys in [Keys::new(3, 0.0), Keys::new(3, 1.0)] {
            assert_eq!(keys.draw(u64::MAX), 2);
        }
        // 1 : 1/2 : 1/3 is 6 : 3 : 2.
        let keys = Keys::new(3, 1.0);
        let at = |eleventh: u64| keys.draw((u64::MAX / 110) * (10 * eleventh + 5));
        assert_eq!((0..11).map(at).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2]);
    }
}
