use std::hash::{BuildHasher, Hasher};

/// FNV-1a of 64 bits, over the same bytes on every machine: integers are hashed as little-endian, and `usize` and
/// `isize` as 64 bits.
///
/// A key therefore has the same hash in every run, of every program, on every machine. The standard library's own
/// hasher has another seed in every process, and may change. One exception: slices of integers wider than a byte are
/// hashed as they are stored, and have another hash on a big-endian machine.
///
/// The hash decides which tasklet works on a key, and nothing else: no output depends on it. It is no protection
/// against keys that were chosen to collide.
///
/// The algorithm: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, *The FNV Non-Cryptographic Hash Algorithm*.
///
/// ```
/// use millstream::core::StableHasher;
/// use std::hash::{Hash, Hasher};
/// let mut hasher = StableHasher::default();
/// hasher.write(b"foobar");
/// assert_eq!(hasher.finish(), 0x85944171f73967e8);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct StableHasher(u64);

const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

impl Default for StableHasher {
    fn default() -> Self {
        StableHasher(OFFSET_BASIS)
    }
}

macro_rules! as_little_endian {
    ($($method:ident: $integer:ty as $wide:ty,)*) => {$(
        #[inline]
        fn $method(&mut self, i: $integer) {
            self.write(&(i as $wide).to_le_bytes());
        }
    )*};
}

impl Hasher for StableHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(PRIME);
        }
    }

    as_little_endian! {
        write_u8: u8 as u8,
        write_u16: u16 as u16,
        write_u32: u32 as u32,
        write_u64: u64 as u64,
        write_u128: u128 as u128,
        write_usize: usize as u64,
        write_i8: i8 as i8,
        write_i16: i16 as i16,
        write_i32: i32 as i32,
        write_i64: i64 as i64,
        write_i128: i128 as i128,
        write_isize: isize as i64,
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

/// Makes [`StableHasher`]s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Stable;

impl BuildHasher for Stable {
    type Hasher = StableHasher;

    #[inline]
    fn build_hasher(&self) -> StableHasher {
        StableHasher::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(f: impl Fn(&mut StableHasher)) -> u64 {
        let mut hasher = StableHasher::default();
        f(&mut hasher);
        hasher.finish()
    }

    /// Reference values of the authors' own test suite.
    #[test]
    fn bytes_hash_as_the_authors_say() {
        assert_eq!(hash(|_| ()), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(|h| h.write(b"a")), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash(|h| h.write(b"foobar")), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn integers_hash_as_their_little_endian_bytes_and_sizes_as_64_bits() {
        assert_eq!(hash(|h| h.write_u32(0x0403_0201)), hash(|h| h.write(&[1, 2, 3, 4])));
        assert_eq!(hash(|h| h.write_usize(7)), hash(|h| h.write_u64(7)));
        assert_eq!(hash(|h| h.write_isize(-7)), hash(|h| h.write_i64(-7)));
    }
}
