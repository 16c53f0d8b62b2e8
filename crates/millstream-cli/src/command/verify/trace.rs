use crate::hash::Hash;
use millstream_core::SequenceNumber;
use std::fmt;

/// What an edge held: its hash, and one of every filled slot, by which the first that differs is found.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    hash: Hash,
    slots: Vec<(SequenceNumber, Hash)>,
    end: SequenceNumber,
}

/// Where two traces part.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    /// The values differ, or only one has a value.
    Number(SequenceNumber),
    /// The streams have another length.
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
    pub(crate) fn slot(&mut self, number: SequenceNumber, bytes: &[u8]) {
        self.hash.slot(number, bytes);
        let mut alone = Hash::default();
        alone.slot(number, bytes);
        self.slots.push((number, alone));
    }

    pub(crate) fn ended_at(mut self, end: SequenceNumber) -> Self {
        self.end = end;
        self
    }

    /// The first number at which the other one is not the same.
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

/// `HASH COUNT`.
impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x} {}", self.hash.state(), self.hash.slots())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trace(slots: &[(u64, &str)], end: u64) -> Trace {
        let mut trace = Trace::default();
        slots.iter().for_each(|(number, bytes)| trace.slot(SequenceNumber(*number), bytes.as_bytes()));
        trace.ended_at(SequenceNumber(end))
    }

    #[test]
    fn traces_part_at_the_first_number_that_differs() {
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
