use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fmt;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A state's random numbers: a counter-based generator, seeded by the state's token alone.
pub type Random = ChaCha8Rng;

/// The name of a state: 16 bytes, a function of its parent's token and its index among the parent's children.
///
/// A state has the same name however often and on whichever worker it is computed. A name is the first half of a
/// SHA-256: finding two states of one name takes some 2^64 tries.
///
/// ```
/// use millstream::evolve::Token;
/// let parent = Token::root(7, 0, 0);
/// assert_eq!(parent.child(1), Token::root(7, 0, 0).child(1));
/// assert_ne!(parent.child(1), parent.child(2));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Token([u8; 16]);

impl Token {
    /// The name of the `index`-th state of the `reset`-th population of this seed.
    #[must_use]
    pub fn root(seed: u64, reset: u64, index: u64) -> Token {
        let parts = [b"millstream root".as_slice(), &seed.to_le_bytes(), &reset.to_le_bytes(), &index.to_le_bytes()];
        Token(first_half(&parts))
    }

    /// The name of this state's child at this index.
    #[must_use]
    pub fn child(self, index: u32) -> Token {
        Token(first_half(&[b"millstream child", &self.0, &index.to_le_bytes()]))
    }

    /// The state's random numbers, from their beginning.
    #[must_use]
    pub fn random(self) -> Random {
        let mut seed = *b"millstream-evolve random stream.";
        seed[..16].copy_from_slice(&self.0);
        ChaCha8Rng::from_seed(seed)
    }

    /// The bytes of the name.
    #[must_use]
    pub fn bytes(self) -> [u8; 16] {
        self.0
    }
}

fn first_half(parts: &[&[u8]]) -> [u8; 16] {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part);
    }
    let whole: [u8; 32] = hasher.finalize().into();
    let mut half = [0; 16];
    half.copy_from_slice(&whole[..16]);
    half
}

impl Hash for Token {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        state.write_u64(u64::from_le_bytes([a, b, c, d, e, f, g, h]));
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({self})")
    }
}

/// A map by token. It hashes nothing, since a token is a hash.
pub(crate) type ByToken<V> = std::collections::HashMap<Token, V, BuildHasherDefault<HashedAlready>>;

#[derive(Debug, Default)]
pub(crate) struct HashedAlready(u64);

impl Hasher for HashedAlready {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngCore;

    /// These names are in checkpoints and on other machines: they must never change.
    #[test]
    fn names_and_their_random_numbers_are_fixed() {
        let root = Token::root(1, 0, 2);
        assert_eq!(root.to_string(), "d8dc414fb6aad2e597abfc2da29c10f9");
        assert_eq!(root.child(3).to_string(), "477b75fc24ee0e5ce997571faf8f4257");
        assert_eq!(root.random().next_u64(), 16_666_348_988_009_110_657);
    }

    #[test]
    fn every_part_counts() {
        let tokens = [Token::root(0, 0, 0), Token::root(1, 0, 0), Token::root(0, 1, 0), Token::root(0, 0, 1)];
        let all: std::collections::BTreeSet<_> = tokens
            .into_iter()
            .chain(tokens.into_iter().flat_map(|token| (0..10).map(move |i| token.child(i))))
            .collect();
        assert_eq!(all.len(), 44);
    }
}
