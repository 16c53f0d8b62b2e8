use crate::hash::Hash;
use millstream_core::SequenceNumber;
use std::fmt;

/// The values of an edge: a digest of every filled slot, which finds the first difference, and the hash, if it is
/// printed.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: Option<Hash>,
    slots: Vec<(SequenceNumber, u64)>,
    end: SequenceNumber,
}

/// The first difference between two traces.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The values differ, or only one has a value.
    Number(SequenceNumber),
    /// The lengths of the streams differ.
    End(SequenceNumber),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Number(number) => write!(f, "number {number}"),
            Difference::End(number) => write!(f, "number {number}, which is END for one of them"),
        }
    }
}

impl Trace {
    /// A trace with the hash that a run prints. The hash goes byte by byte, and costs ten times as much as the
    /// comparison.
    pub(crate) fn hashed() -> Self {
        Trace { hash: Some(Hash::default()), ..Trace::default() }
    }

    pub(crate) fn slot(&mut self, number: SequenceNumber, bytes: &[u8]) {
        if let Some(hash) = &mut self.hash {
            hash.slot(number, bytes);
        }
        self.slots.push((number, digest(bytes)));
    }

    pub(crate) fn ended_at(mut self, end: SequenceNumber) -> Self {
        self.end = end;
        self
    }

    /// The first number at which `other` is not the same.
    pub(crate) fn difference(&self, other: &Self) -> Option<Difference> {
        let first = self.slots.iter().zip(&other.slots).find(|(mine, theirs)| mine != theirs);
        let parted = first.map(|(mine, theirs)| mine.0.min(theirs.0));
        let rest = |longer: &Self, shorter: &Self| longer.slots.get(shorter.slots.len()).map(|slot| slot.0);
        match parted.or_else(|| rest(self, other)).or_else(|| rest(other, self)) {
            Some(number) => Some(Difference::Number(number)),
            None if self.end != other.end => Some(Difference::End(self.end.min(other.end))),
            None => None,
        }
    }
}

/// A digest of bytes, of eight at a time in each of four lanes. A difference in one word always changes it; a
/// difference in several words almost always does.
fn digest(bytes: &[u8]) -> u64 {
    const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |lane: u64, word: u64| (lane ^ word).wrapping_mul(ODD).rotate_left(29);
    let (blocks, rest) = bytes.as_chunks::<32>();
    let mut lanes = [1, 2, 3, bytes.len() as u64];
    for block in blocks {
        let (words, _) = block.as_chunks::<8>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane = mix(*lane, u64::from_le_bytes(*word));
        }
    }
    let words = rest.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
    let tail = words.fold(0, mix);
    lanes.into_iter().fold(tail, mix)
}

/// `HASH COUNT`.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hash = self.hash.clone().unwrap_or_default();
        write!(f, "{:016x} {}", hash.state(), self.slots.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_counts() {
        for len in 0..100_usize {
            let bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let whole = digest(&bytes);
            for at in 0..len {
                let mut other = bytes.clone();
                other[at] ^= 0x40;
                assert_ne!(digest(&other), whole, "byte {at} of {len}");
            }
            assert_ne!(digest(&[&bytes[..], &[0]].concat()), whole, "{len} and a 0");
        }
    }

    fn trace(slots: &[(u64, &str)], end: u64) -> Trace {
        let mut trace = Trace::default();
        slots.iter().for_each(|(number, bytes)| trace.slot(SequenceNumber(*number), bytes.as_bytes()));
        trace.ended_at(SequenceNumber(end))
    }

    #[test]
    fn traces_differ_at_the_first_number_that_is_not_the_same() {
        let model = trace(&[(0, "a"), (2, "b")], 3);
        let parted = |other: Trace| (model.difference(&other), other.difference(&model));
        let number = |n| Some(Difference::Number(SequenceNumber(n)));
        assert_eq!(parted(trace(&[(0, "a"), (2, "b")], 3)), (None, None));
        assert_eq!(parted(trace(&[(0, "a"), (2, "c")], 3)), (number(2), number(2)));
        assert_eq!(parted(trace(&[(0, "a"), (1, "b")], 3)), (number(1), number(1)));
        assert_eq!(parted(trace(&[(0, "a")], 3)), (number(2), number(2)));
        let end = Some(Difference::End(SequenceNumber(3)));
        assert_eq!(parted(trace(&[(0, "a"), (2, "b")], 4)), (end, Some(Difference::End(SequenceNumber(3)))));
    }
}
