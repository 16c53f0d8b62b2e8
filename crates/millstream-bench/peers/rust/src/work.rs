//! The work on the items, for Millstream and for its rivals: both compile this file.

/// `chain3`: the first map.
#[inline]
pub(crate) fn first(x: u64) -> u64 {
    x.wrapping_mul(3).wrapping_add(1)
}

/// `chain3`: the second map.
#[inline]
pub(crate) fn second(x: u64) -> u64 {
    x ^ (x >> 7)
}

/// `zip2`: one of the branches. The second branch is the number itself.
#[inline]
pub(crate) fn is_even(x: u64) -> bool {
    x.is_multiple_of(2)
}

/// `zip2`: the addend of an even number and its parity.
#[inline]
pub(crate) fn if_even(x: u64, even: bool) -> u64 {
    if even { x } else { 0 }
}

/// `zip10`: the count of numbers, and the bits in which the sum of ten halves ever differed from ten times the number.
#[derive(Clone, Copy, Default)]
pub(crate) struct Seen {
    numbers: u64,
    wrong: u64,
}

impl Seen {
    /// Checks all ten halves of a number. It has no branch, so that the compiler can check several numbers at a time.
    #[inline(always)]
    pub(crate) fn look(&mut self, number: u64, halves: [u64; 10]) {
        self.numbers += 1;
        self.wrong |= halves.into_iter().fold(0, u64::wrapping_add) ^ number.wrapping_mul(10);
    }

    /// The count of numbers, if all sums were right.
    pub(crate) fn checksum(self) -> u64 {
        if self.wrong == 0 { self.numbers } else { u64::MAX }
    }
}

/// `zip10-write`: the value of branch `i`.
#[inline]
pub(crate) fn branch(i: usize, x: u64) -> u64 {
    x ^ (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// `zip10-write`: the addend of ten halves.
#[inline(always)]
pub(crate) fn mix(halves: [u64; 10]) -> u64 {
    second(halves.into_iter().fold(0, u64::wrapping_add))
}

/// `chain7`: stage `i` of seven.
#[inline]
pub(crate) fn stage(i: u64, x: u64) -> u64 {
    x.wrapping_add(i) ^ (x >> 9)
}

/// `shard2-ordered`: this many rounds of xorshift.
pub(crate) fn rounds(x: u64, rounds: u32) -> u64 {
    let mut x = x | 1 << 63;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// `shard2-ordered`: the number of rounds that take about 1.2 microseconds.
pub(crate) const ROUNDS: u32 = 720;

/// A checksum that depends on the order.
#[inline]
pub(crate) fn joined(sum: u64, x: u64) -> u64 {
    sum.wrapping_mul(31).wrapping_add(x)
}

/// `three-to-one`: the entry of a number.
#[inline]
pub(crate) fn entry(x: u64) -> [u64; 3] {
    [x, x ^ 1, x.wrapping_mul(3)]
}
