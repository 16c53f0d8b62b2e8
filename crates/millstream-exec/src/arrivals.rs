//! The futures that a stage has in flight, in no order.

use crate::flights::{FutureSlots, InFlight};
use crate::wakes::Wakes;
use millstream_core::failure::Finished;
use std::collections::VecDeque;
use std::future::Future;
use std::sync::Arc;

/// At most `limit` futures and results. Results are in the order of completion.
pub(crate) struct Arrivals<Fut: Future> {
    limit: usize,
    slots: FutureSlots<Fut>,
    /// For each slot the number of the value that its future was made of.
    numbers: Vec<u64>,
    in_flight: usize,
    landed: VecDeque<usize>,
}

impl<Fut: Future> InFlight<Fut> for Arrivals<Fut> {
    fn full(&self) -> bool {
        self.len() == self.limit
    }

    fn start(&mut self, number: u64, make: impl FnOnce() -> Fut) {
        let index = self.slots.start(make);
        if index == self.numbers.len() {
            self.numbers.push(number);
        }
        self.numbers[index] = number;
        if self.slots.landed(index) {
            self.landed.push_back(index);
        } else {
            self.in_flight += 1;
        }
    }
}

impl<Fut: Future> Arrivals<Fut> {
    pub(crate) fn new(limit: usize, wakes: Arc<Wakes>) -> Self {
        let (slots, numbers, landed) = (FutureSlots::new(wakes), Vec::new(), VecDeque::new());
        Arrivals { limit, slots, numbers, in_flight: 0, landed }
    }

    /// The number of futures and results.
    pub(crate) fn len(&self) -> usize {
        self.in_flight + self.landed.len()
    }

    /// The number of results.
    pub(crate) fn landed(&self) -> usize {
        self.landed.len()
    }

    /// As [`FutureSlots::poll_woken`].
    pub(crate) fn poll_woken<G>(&mut self, enter: impl FnOnce() -> G) -> bool {
        let (in_flight, landed) = (&mut self.in_flight, &mut self.landed);
        self.slots.poll_woken(enter, |index, lands| {
            if lands {
                *in_flight -= 1;
                landed.push_back(index);
            }
        })
    }

    /// As [`FutureSlots::leave`].
    pub(crate) fn leave(&self) -> bool {
        self.slots.leave()
    }

    /// The earliest result, if any, and the number of the value it was made of.
    pub(crate) fn land(&mut self) -> Option<(u64, Finished<Fut::Output>)> {
        let index = self.landed.pop_front()?;
        let landed = self.slots.take(index).expect("it has landed");
        Some((self.numbers[index], landed))
    }

    /// Drops everything; futures are dropped while the guard that `enter` returns is alive.
    pub(crate) fn clear<G>(&mut self, enter: impl FnOnce() -> G) {
        let _entered = (self.len() > 0).then(enter);
        self.landed.clear();
        self.in_flight = 0;
        self.slots.clear();
    }
}
