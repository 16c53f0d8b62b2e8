/// Pseudorandom numbers that are the same for a seed on every machine and in every version.
///
/// The generator is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014). It has
/// eight bytes of state, takes a few instructions a number, and is not for secrets: it is for schedules, tests and
/// generated traffic.
///
/// ```
/// use millstream::core::SplitMix64;
///
/// let mut random = SplitMix64::new(1234567);
/// assert_eq!([random.draw(), random.draw()], [6457827717110365317, 3203168211198807973]);
/// assert_eq!(SplitMix64::at(1234567, 1), 3203168211198807973);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SplitMix64(u64);

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl SplitMix64 {
    /// The sequence of any seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        SplitMix64(seed)
    }

    /// The next number.
    #[inline]
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GOLDEN);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// The next number modulo `n`, which is nearly uniform if `n` is far below 2^64.
    ///
    /// # Panics
    ///
    /// If `n` is 0.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.draw() % n
    }

    /// Number `n` of the sequence of `seed`, counted from 0, without drawing the earlier ones.
    #[inline]
    #[must_use]
    pub fn at(seed: u64, n: u64) -> u64 {
        SplitMix64(seed.wrapping_add(n.wrapping_mul(GOLDEN))).draw()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_equal_published_ones() {
        let mut random = SplitMix64::new(1_234_567);
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(expected.map(|_| random.draw()), expected);
        assert_eq!([0, 1, 2, 3, 4].map(|n| SplitMix64::at(1_234_567, n)), expected);
        assert!((0..1000).all(|_| random.below(7) < 7));
    }
}
