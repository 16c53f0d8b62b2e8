//! The futures that a stage has in flight, each at its number.

use crate::wakes::{Wakeable, Wakes};
use millstream_core::failure::{Finished, caught, discard};
use millstream_ring::{Batch, RingLayout};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Seats for futures, used again and again: once warm, it allocates nothing.
pub(crate) struct FutureSlots<Fut: Future> {
    slots: Vec<FutureSlot<Fut>>,
    free: Vec<usize>,
    wakes: Arc<Wakes>,
    woken: Vec<usize>,
}

/// Room for one future at a time.
struct FutureSlot<Fut: Future> {
    future: Pin<Box<Option<Fut>>>,
    landed: Option<Finished<Fut::Output>>,
    wakeable: Wakeable,
}

impl<Fut: Future> FutureSlots<Fut> {
    pub(crate) fn new(wakes: Arc<Wakes>) -> Self {
        FutureSlots { slots: Vec::new(), free: Vec::new(), wakes, woken: Vec::new() }
    }

    /// Makes a future and polls it, in the slot whose index this gives.
    pub(crate) fn start(&mut self, make: impl FnOnce() -> Fut) -> usize {
        let index = self.free.pop().unwrap_or_else(|| {
            let wakeable = self.wakes.wakeable(self.slots.len());
            self.slots.push(FutureSlot { future: Box::pin(None), landed: None, wakeable });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[index];
        match caught(make) {
            Ok(future) => {
                slot.future.set(Some(future));
                slot.poll();
            }
            Err(payload) => slot.landed = Some(Err(payload)),
        }
        index
    }

    /// Polls those who were woken, each once, if there are any: between `enter` and the drop of what it gives; `polled`
    /// is told of each. Whether there were any. Then it is not told of wake-ups before [`leave`](FutureSlots::leave).
    pub(crate) fn poll_woken<G>(&mut self, enter: impl FnOnce() -> G, mut polled: impl FnMut(usize, bool)) -> bool {
        self.wakes.attend(&mut self.woken);
        if self.woken.is_empty() {
            return false;
        }
        let _entered = enter();
        for index in self.woken.iter().copied() {
            let slot = &mut self.slots[index];
            let flew = slot.landed.is_none() && slot.future.is_some();
            slot.wakeable.polled();
            slot.poll();
            polled(index, flew && slot.landed.is_some());
        }
        self.woken.clear();
        true
    }

    /// Whether nobody was woken since [`poll_woken`](FutureSlots::poll_woken).
    pub(crate) fn leave(&self) -> bool {
        self.wakes.leave()
    }

    pub(crate) fn landed(&self, index: usize) -> bool {
        self.slots[index].landed.is_some()
    }

    /// What has landed in this slot, which is free then.
    pub(crate) fn take(&mut self, index: usize) -> Option<Finished<Fut::Output>> {
        let landed = self.slots[index].landed.take()?;
        self.free.push(index);
        Some(landed)
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}

/// Where a stage keeps the futures that it has started.
pub(crate) trait InFlight<Fut> {
    /// Whether no further one may be started.
    fn full(&self) -> bool;

    /// Starts the future of the value at this number, which is behind all that were started.
    fn start(&mut self, number: u64, make: impl FnOnce() -> Fut);

    /// Starts the futures of a batch's values, as many as may be, and gives the rest of the batch back unread; returns how
    /// many numbers it went through.
    fn start_batch<A: RingLayout>(&mut self, batch: &mut Batch<'_, A>, f: impl Fn(A::Ref<'_>) -> Fut) -> usize {
        let (first, mut started) = (batch.first().0, 0);
        for value in batch.iter() {
            if let Some(value) = value {
                if self.full() {
                    break;
                }
                self.start(first + started as u64, || f(value));
            }
            started += 1;
        }
        batch.truncate(started);
        started
    }
}

/// At most `limit` futures and results, in the order of their numbers.
pub(crate) struct Flights<Fut: Future> {
    limit: usize,
    slots: FutureSlots<Fut>,
    /// The numbers that have a slot, and which.
    order: VecDeque<(u64, usize)>,
}

impl<Fut: Future> InFlight<Fut> for Flights<Fut> {
    fn full(&self) -> bool {
        self.order.len() == self.limit
    }

    fn start(&mut self, number: u64, make: impl FnOnce() -> Fut) {
        let index = self.slots.start(make);
        self.order.push_back((number, index));
    }
}

impl<Fut: Future> Flights<Fut> {
    pub(crate) fn new(limit: usize, wakes: Arc<Wakes>) -> Self {
        Flights { limit, slots: FutureSlots::new(wakes), order: VecDeque::new() }
    }

    /// As [`FutureSlots::poll_woken`].
    pub(crate) fn poll_woken<G>(&mut self, enter: impl FnOnce() -> G) -> bool {
        self.slots.poll_woken(enter, |_, _| ())
    }

    /// Whether nobody was woken since [`poll_woken`](Flights::poll_woken).
    pub(crate) fn leave(&self) -> bool {
        self.slots.leave()
    }

    /// What has landed at this number, or nothing if no future was started there; none while it is in flight. Numbers
    /// are asked for in order, each until it has landed.
    pub(crate) fn land(&mut self, number: u64) -> Option<Option<Finished<Fut::Output>>> {
        match self.order.front() {
            Some((first, index)) if *first == number => {
                let landed = self.slots.take(*index)?;
                self.order.pop_front();
                Some(Some(landed))
            }
            _ => Some(None),
        }
    }

    /// Whether the future of this number is in flight.
    pub(crate) fn in_flight(&self, number: u64) -> bool {
        self.order.front().is_some_and(|(first, index)| *first == number && !self.slots.landed(*index))
    }

    /// Drops everything, futures in flight between `enter` and the drop of what it gives.
    pub(crate) fn clear<G>(&mut self, enter: impl FnOnce() -> G) {
        let _entered = (!self.order.is_empty()).then(enter);
        self.order.clear();
        self.slots.clear();
    }
}

impl<Fut: Future> FutureSlot<Fut> {
    fn poll(&mut self) {
        let FutureSlot { future, landed, wakeable } = self;
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
        *landed = Some(match (result, dropped) {
            (Ok(result), dropped) => dropped.map(|()| result),
            (Err(payload), dropped) => {
                dropped.unwrap_or_else(discard);
                Err(payload)
            }
        });
    }
}
