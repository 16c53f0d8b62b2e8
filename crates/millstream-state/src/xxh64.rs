//! The hash of a part: XXH64 with the seed 0, as [`xxhsum -H1`](https://xxhash.com) computes it.
//!
//! A part may have 100 MB, and the hash of keys in the core takes them byte by byte; this one takes 32 bytes a turn.
//! It finds damage, not forgery.

use twox_hash::XxHash64;

/// The hash of these bytes. Files have it, so it stays the same.
pub(crate) fn xxh64(bytes: &[u8]) -> u64 {
    XxHash64::oneshot(0, bytes)
}

#[cfg(test)]
mod tests {
    use super::xxh64;

    #[test]
    fn hashes_are_those_of_xxhsum() {
        let whole: Vec<u8> = (0..100).collect();
        let known: [(&[u8], u64); 5] = [
            (b"", 0xef46_db37_51d8_e999),
            (b"a", 0xd24e_c4f1_a98c_6e5b),
            (b"abc", 0x44bc_2cf5_ad77_0999),
            (b"Nobody inspects the spammish repetition", 0xfbce_a83c_8a37_8bf1),
            (&whole, 0x6ac1_e580_3216_6597),
        ];
        for (bytes, hash) in known {
            assert_eq!(xxh64(bytes), hash, "{bytes:?}");
        }
    }
}
