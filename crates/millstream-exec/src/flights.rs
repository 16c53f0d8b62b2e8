//! The futures that a stage has in flight, each at its number.

use crate::wakes::{Wakeable, Wakes};
use millstream_core::failure::{Finished, caught};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// At most `limit` futures and results, in the order of their numbers. Once warm, it allocates nothing.
pub(crate) struct Flights<Fut: Future> {
    limit: usize,
    seats: Vec<Seat<Fut>>,
    free: Vec<usize>,
    /// The numbers that have a seat, and which.
    order: VecDeque<(u64, usize)>,
    wakes: Arc<Wakes>,
    woken: Vec<usize>,
}

/// Room for one future at a time.
struct Seat<Fut: Future> {
    future: Pin<Box<Option<Fut>>>,
    landed: Option<Finished<Fut::Output>>,
    wakeable: Wakeable,
}

impl<Fut: Future> Flights<Fut> {
    pub(crate) fn new(limit: usize, wakes: Arc<Wakes>) -> Self {
        let (seats, free, order) = (Vec::new(), Vec::new(), VecDeque::new());
        Flights { limit, seats, free, order, wakes, woken: Vec::new() }
    }

    pub(crate) fn full(&self) -> bool {
        self.order.len() == self.limit
    }

    /// Starts the future of the next number that has one.
    pub(crate) fn start(&mut self, number: u64, make: impl FnOnce() -> Fut) {
        let index = self.free.pop().unwrap_or_else(|| {
            let wakeable = self.wakes.wakeable(self.seats.len());
            self.seats.push(Seat { future: Box::pin(None), landed: None, wakeable });
            self.seats.len() - 1
        });
        let seat = &mut self.seats[index];
        match caught(make) {
            Ok(future) => {
                seat.future.set(Some(future));
                seat.poll();
            }
            Err(payload) => seat.landed = Some(Err(payload)),
        }
        self.order.push_back((number, index));
    }

    /// Polls those who were woken, each once, if there are any: between `enter` and the drop of what it gives. Whether
    /// there were any. Then it is not told of wake-ups before [`leave`](Flights::leave).
    pub(crate) fn poll_woken<G>(&mut self, enter: impl FnOnce() -> G) -> bool {
        self.wakes.attend(&mut self.woken);
        if self.woken.is_empty() {
            return false;
        }
        let _entered = enter();
        for index in self.woken.iter().copied() {
            self.seats[index].wakeable.polled();
            self.seats[index].poll();
        }
        self.woken.clear();
        true
    }

    /// Whether nobody was woken since [`poll_woken`](Flights::poll_woken).
    pub(crate) fn leave(&self) -> bool {
        self.wakes.leave()
    }

    /// What has landed at this number, or nothing if no future was started there; none while it is in flight. Numbers
    /// are asked for in order, each until it has landed.
    pub(crate) fn land(&mut self, number: u64) -> Option<Option<Finished<Fut::Output>>> {
        match self.order.front() {
            Some((first, index)) if *first == number => {
                let landed = self.seats[*index].landed.take()?;
                self.free.push(*index);
                self.order.pop_front();
                Some(Some(landed))
            }
            _ => Some(None),
        }
    }

    /// Whether the future of this number is in flight.
    pub(crate) fn in_flight(&self, number: u64) -> bool {
        self.order.front().is_some_and(|(first, index)| *first == number && self.seats[*index].landed.is_none())
    }

    /// Drops everything, futures in flight between `enter` and the drop of what it gives.
    pub(crate) fn clear<G>(&mut self, enter: impl FnOnce() -> G) {
        let _entered = (!self.order.is_empty()).then(enter);
        self.order.clear();
        self.seats.clear();
    }
}

impl<Fut: Future> Seat<Fut> {
    fn poll(&mut self) {
        let Seat { future, landed, wakeable } = self;
        let polled = caught(|| match future.as_mut().as_pin_mut() {
            Some(future) => future.poll(&mut Context::from_waker(wakeable.waker())),
            None => Poll::Pending,
        });
        let result = match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(payload) => Err(payload),
        };
        // Its drop is the user's code as well.
        let dropped = caught(|| future.set(None));
        *landed = Some(result.and_then(|result| dropped.map(|()| result)));
    }
}
