use std::hash::{BuildHasher, Hasher};

/// The hash of the table of keys: one multiplication for an integer, and for eight bytes of anything else.
///
/// It decides where in the table a key is, and nothing else, so it may change with any version. Like the
/// [hash](super::StableHasher) that decides a key's tasklet, it is no protection against keys that were chosen to
/// collide.
///
/// The operation is the folded multiplication of wyhash (Wang Yi) and of the hashes that follow it: both halves of the
/// product of two words, by exclusive or.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TableHasher(u64);

/// Numbers without a pattern: digits of the golden ratio, made odd, and of pi.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
const OFFSET: u64 = 0x243f_6a88_85a3_08d3;

impl TableHasher {
    #[inline]
    fn add(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word ^ OFFSET) * u128::from(FACTOR);
        self.0 = product as u64 ^ (product >> 64) as u64;
    }
}

macro_rules! as_words {
    ($($method:ident: $integer:ty,)*) => {$(
        #[inline]
        #[allow(clippy::cast_lossless, reason = "of some of the integers it is none")]
        fn $method(&mut self, i: $integer) {
            self.add(i as u64);
        }
    )*};
}

/// The last eight bytes; of fewer, all of them, some twice. To copy them one by one takes longer than the rest.
#[inline]
fn last_word(bytes: &[u8]) -> u64 {
    if let Some(word) = bytes.last_chunk::<8>() {
        return u64::from_le_bytes(*word);
    }
    if let (Some(first), Some(last)) = (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    match bytes {
        [] => 0,
        [first, .., last] => u64::from(*first) | u64::from(bytes[bytes.len() / 2]) << 8 | u64::from(*last) << 16,
        [only] => u64::from(*only),
    }
}

impl Hasher for TableHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| self.add(u64::from_le_bytes(*word)));
        if words.is_empty() || !rest.is_empty() {
            self.add(last_word(bytes));
        }
        // So that zeros at the end count, and equal bytes on both sides of a boundary.
        self.add(bytes.len() as u64);
    }

    as_words! {
        write_u8: u8,
        write_u16: u16,
        write_u32: u32,
        write_u64: u64,
        write_usize: usize,
        write_i8: i8,
        write_i16: i16,
        write_i32: i32,
        write_i64: i64,
        write_isize: isize,
    }

    #[inline]
    fn write_u128(&mut self, i: u128) {
        self.add(i as u64);
        self.add((i >> 64) as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        // The table chooses a group by the low bits, which one multiplication mixes less than the high ones.
        self.0 ^ (self.0 >> 32)
    }
}

/// Makes [`TableHasher`]s.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Quick;

impl BuildHasher for Quick {
    type Hasher = TableHasher;

    #[inline]
    fn build_hasher(&self) -> TableHasher {
        TableHasher::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    /// The bits by which a table chooses a group, and those that it keeps of each entry.
    fn spread(hashes: impl Iterator<Item = u64> + Clone) -> (usize, usize) {
        let low: HashSet<u64> = hashes.clone().map(|hash| hash & 0xfff).collect();
        let high: HashSet<u64> = hashes.map(|hash| hash >> 57).collect();
        (low.len(), high.len())
    }

    /// Random hashes of 4096 keys have some 2589 different values of twelve bits, and all of seven.
    #[test]
    fn keys_with_a_pattern_are_spread() {
        for shift in (0..53).step_by(4) {
            let (low, high) = spread((0..4096_u64).map(|n| Quick.hash_one(n << shift)));
            assert!(low > 2400 && high == 128, "{shift}: {low}, {high}");
        }
        let (low, high) = spread((0..4096_u32).map(|n| Quick.hash_one(format!("sensor-{n}"))));
        assert!(low > 2400 && high == 128, "{low}, {high}");
    }

    #[test]
    fn every_byte_and_the_length_count() {
        let keys: HashSet<Vec<u8>> =
            (0..40).flat_map(|len| (0..=len).map(move |one| (0..len).map(|i| u8::from(i == one)).collect())).collect();
        let hashes: HashSet<u64> = keys.iter().map(|key| Quick.hash_one(key)).collect();
        assert_eq!(hashes.len(), keys.len());
    }
}
