use crate::marks::Marks;
use crate::source_ring::SourceRing;
use millstream_core::Item;
use std::collections::VecDeque;

/// There will be no further value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended;

/// What was sent before a run on rings took the receiver, or is sent to a run on something else: a bounded queue.
pub(super) struct Early<T> {
    values: VecDeque<T>,
    slots: usize,
    /// How many values were sent.
    sent: u64,
    ended: bool,
}

impl<T> Early<T> {
    pub(super) fn new(slots: usize) -> Self {
        Early { values: VecDeque::new(), slots, sent: 0, ended: false }
    }

    /// Takes the value if there is room; whether there is none.
    pub(super) fn offer(&mut self, unsent: &mut Option<T>) -> bool {
        if self.ended {
            return false;
        }
        let full = self.values.len() >= self.slots;
        if let (false, Some(value)) = (full, if full { None } else { unsent.take() }) {
            self.values.push_back(value);
            self.sent += 1;
        }
        full
    }

    /// Takes as many values as there is room for; none if it takes no more.
    pub(super) fn give(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.ended {
            return None;
        }
        let given = values.len().min(self.free());
        self.values.extend(values.drain(..given));
        self.sent += given as u64;
        Some(given)
    }

    pub(super) fn take(&mut self) -> Result<Option<T>, Ended> {
        match self.values.pop_front() {
            None if self.ended => Err(Ended),
            value => Ok(value),
        }
    }

    pub(super) fn free(&self) -> usize {
        self.slots.saturating_sub(self.values.len())
    }

    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// The number of the next slot, as a ring counts: END has one.
    pub(super) fn next(&self) -> u64 {
        self.sent + u64::from(self.ended)
    }
}

impl<T: Item> Early<T> {
    /// Puts everything into a ring that has room for it.
    pub(super) fn leave_to(&mut self, ring: &mut SourceRing<T>, marks: &Marks) {
        while !self.values.is_empty() {
            let Ok(Some(mut claim)) = ring.try_claim(marks, self.values.len()) else {
                unreachable!("a new ring has room for as many values as its slots")
            };
            let len = claim.len();
            claim.extend(&mut self.values.drain(..len));
            claim.publish();
        }
        if self.ended {
            ring.end(marks);
        }
    }
}
