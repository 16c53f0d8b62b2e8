use millstream_core::SequenceNumber;
use std::fmt;

/// FNV-1a with 64 bits, over every filled output slot in order: the eight bytes of its number, lowest first, then the
/// bytes of its value. Equal hashes and counts mean equal outputs at equal numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hash {
    state: u64,
    slots: u64,
}

impl Default for Hash {
    fn default() -> Self {
        Hash { state: 0xcbf2_9ce4_8422_2325, slots: 0 }
    }
}

impl Hash {
    pub(crate) fn slot(&mut self, number: SequenceNumber, bytes: &[u8]) {
        self.slots += 1;
        for byte in number.0.to_le_bytes().iter().chain(bytes) {
            self.state = (self.state ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A hash in this state, after this many slots.
    pub(crate) fn resumed(state: u64, slots: u64) -> Self {
        Hash { state, slots }
    }

    pub(crate) fn state(&self) -> u64 {
        self.state
    }

    /// The number of slots it covers.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hash {:016x} count {}", self.state, self.slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_hashes_to_the_offset_basis() {
        assert_eq!(Hash::default().to_string(), "hash cbf29ce484222325 count 0");
    }

    #[test]
    fn the_number_counts() {
        let of = |number| {
            let mut hash = Hash::default();
            hash.slot(SequenceNumber(number), b"a");
            hash.to_string()
        };
        assert_ne!(of(0), of(1));
    }
}
