//! A small segment, computed by hand: the running sum at each value that 3 does not divide, and the total at the end.

use millstream_cluster::{Batch, Segment, SegmentError, SegmentRun};

/// With a mistake from this batch on.
#[derive(Clone, Copy)]
pub(crate) struct Sums {
    pub(crate) wrong_from: u64,
}

pub(crate) const RIGHT: Sums = Sums { wrong_from: u64::MAX };

pub(crate) struct Running {
    next: u64,
    sum: u64,
    batch: u64,
    wrong_from: u64,
}

impl Segment for Sums {
    type In = u64;
    type Out = u64;
    type Run = Running;

    fn start(&self, state: Option<&[u8]>) -> Result<Running, SegmentError> {
        let field = |place: usize| {
            let of = |state: &[u8]| u64::from_le_bytes(state[place * 8..][..8].try_into().unwrap());
            state.map_or(0, of)
        };
        Ok(Running { next: field(0), sum: field(1), batch: field(2), wrong_from: self.wrong_from })
    }
}

impl SegmentRun for Running {
    type In = u64;
    type Out = u64;

    fn batch(&mut self, input: Vec<u64>, end: bool) -> Result<Batch<u64>, SegmentError> {
        self.batch += 1;
        let first = self.next;
        let mut values = Vec::new();
        for value in input {
            self.sum += value + u64::from(self.batch >= self.wrong_from);
            if value % 3 != 0 {
                values.push((self.next, self.sum));
            }
            self.next += 1;
        }
        if end {
            values.push((self.next, self.sum));
        }
        Ok(Batch { first, next: self.next, end, generation: 0, values })
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>, SegmentError> {
        Ok(Some([self.next, self.sum, self.batch].map(u64::to_le_bytes).concat()))
    }
}

/// What it means, on the whole list.
pub(crate) fn model(input: &[u64]) -> Vec<(u64, u64)> {
    let mut sums = Vec::new();
    let mut sum = 0;
    for (number, value) in (0..).zip(input) {
        sum += value;
        if value % 3 != 0 {
            sums.push((number, sum));
        }
    }
    sums.push((input.len() as u64, sum));
    sums
}
