//! The hash of a part: XXH64 with the seed 0, as [`xxhsum -H1`](https://xxhash.com) computes it.
//!
//! A part may have 100 MB, and the hash of keys in the core takes them byte by byte; this one takes 32 bytes a turn.
//! It finds damage, not forgery.

const P1: u64 = 0x9e37_79b1_85eb_ca87;
const P2: u64 = 0xc2b2_ae3d_27d4_eb4f;
const P3: u64 = 0x1656_67b1_9e37_79f9;
const P4: u64 = 0x85eb_ca77_c2b2_ae63;
const P5: u64 = 0x27d4_eb2f_1656_67c5;

/// The hash of these bytes.
pub(crate) fn xxh64(bytes: &[u8]) -> u64 {
    let (stripes, rest) = bytes.as_chunks::<32>();
    let mut hash = if stripes.is_empty() { P5 } else { of_stripes(stripes) };
    hash = hash.wrapping_add(bytes.len() as u64);
    let (words, rest) = rest.as_chunks::<8>();
    for word in words {
        hash = (hash ^ round(0, u64::from_le_bytes(*word))).rotate_left(27).wrapping_mul(P1).wrapping_add(P4);
    }
    let (halves, rest) = rest.as_chunks::<4>();
    for half in halves {
        hash ^= u64::from(u32::from_le_bytes(*half)).wrapping_mul(P1);
        hash = hash.rotate_left(23).wrapping_mul(P2).wrapping_add(P3);
    }
    for byte in rest {
        hash = (hash ^ u64::from(*byte).wrapping_mul(P5)).rotate_left(11).wrapping_mul(P1);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(P2);
    hash = (hash ^ (hash >> 29)).wrapping_mul(P3);
    hash ^ (hash >> 32)
}

fn round(lane: u64, word: u64) -> u64 {
    lane.wrapping_add(word.wrapping_mul(P2)).rotate_left(31).wrapping_mul(P1)
}

fn of_stripes(stripes: &[[u8; 32]]) -> u64 {
    let mut lanes = [P1.wrapping_add(P2), P2, 0, 0_u64.wrapping_sub(P1)];
    for stripe in stripes {
        for (lane, word) in lanes.iter_mut().zip(stripe.as_chunks::<8>().0) {
            *lane = round(*lane, u64::from_le_bytes(*word));
        }
    }
    let [a, b, c, d] = lanes;
    let hash = a.rotate_left(1).wrapping_add(b.rotate_left(7)).wrapping_add(c.rotate_left(12));
    let hash = hash.wrapping_add(d.rotate_left(18));
    lanes.iter().fold(hash, |hash, lane| (hash ^ round(0, *lane)).wrapping_mul(P1).wrapping_add(P4))
}

#[cfg(test)]
mod tests {
    use super::xxh64;

    #[test]
    fn hashes_are_those_of_xxhsum() {
        let known: [(&[u8], u64); 4] = [
            (b"", 0xef46_db37_51d8_e999),
            (b"a", 0xd24e_c4f1_a98c_6e5b),
            (b"abc", 0x44bc_2cf5_ad77_0999),
            (b"Nobody inspects the spammish repetition", 0xfbce_a83c_8a37_8bf1),
        ];
        for (bytes, hash) in known {
            assert_eq!(xxh64(bytes), hash, "{bytes:?}");
        }
    }

    #[test]
    fn every_byte_counts() {
        let bytes: Vec<u8> = (0..100).collect();
        for at in 0..100 {
            let mut other = bytes.clone();
            other[at] ^= 1;
            assert_ne!(xxh64(&bytes), xxh64(&other), "byte {at}");
            assert_ne!(xxh64(&bytes), xxh64(&bytes[..at]), "{at} bytes");
        }
    }
}
