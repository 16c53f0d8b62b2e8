use crate::marks::Marks;
use crate::source_ring::SourceRing;
use millstream_core::Item;
use std::collections::VecDeque;

/// There will be no further value.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended;

/// A bounded queue of the values that were sent before a run on rings took the receiver, or that are sent to a run on
/// another deployment. While a run goes on: the values that wait for the mark of a change.
pub(super) struct Early<T> {
    values: VecDeque<T>,
    slots: usize,
    /// How many values were sent.
    sent: u64,
    ended: bool,
    /// How many values were given up: their run is over.
    given_up: u64,
}

impl<T> Early<T> {
    pub(super) fn new(slots: usize) -> Self {
        Early { values: VecDeque::new(), slots, sent: 0, ended: false, given_up: 0 }
    }

    /// Takes the value if there is room. Returns whether there was none.
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

    /// Takes as many values as fit; `None` if it takes no more.
    pub(super) fn give(&mut self, values: &mut VecDeque<T>) -> Option<usize> {
        if self.ended {
            return None;
        }
        let given = values.len().min(self.free());
        self.values.extend(values.drain(..given));
        self.sent += given as u64;
        Some(given)
    }

    /// Takes further values, however many there are.
    pub(super) fn extend(&mut self, values: impl Iterator<Item = T>) {
        if self.ended {
            return;
        }
        let before = self.values.len();
        self.values.extend(values);
        self.sent += (self.values.len() - before) as u64;
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

    /// How many values were accepted here.
    pub(super) fn sent(&self) -> u64 {
        self.sent
    }

    pub(super) fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// How many of the values no run has taken.
    pub(super) fn kept(&self) -> u64 {
        self.values.len() as u64 + self.given_up
    }

    /// The values that are left. Dropping them runs the user's code.
    pub(super) fn give_up(&mut self) -> VecDeque<T> {
        self.given_up += self.values.len() as u64;
        std::mem::take(&mut self.values)
    }

    /// The whole queue, for a run that begins.
    pub(super) fn take_over(&mut self) -> Self {
        Early { values: std::mem::take(&mut self.values), ..*self }
    }
}

impl<T: Item> Early<T> {
    /// Puts values into a ring that has room for all of them, up to the next mark; then END. Returns whether anything
    /// was published.
    pub(super) fn leave_to(&mut self, ring: &mut SourceRing<T>, marks: &Marks) -> bool {
        if self.values.is_empty() {
            let ends = self.ended && !ring.producer.ended();
            return ends && ring.try_end(marks);
        }
        let Ok(Some(mut claim)) = ring.try_claim(marks, self.values.len()) else { return false };
        let len = claim.len();
        claim.extend(&mut self.values.drain(..len));
        claim.publish();
        true
    }
}
