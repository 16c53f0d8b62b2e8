//! The futures that a stage has in flight, each at its number.

use crate::wakes::{Wakeable, Wakes};
use millstream_core::blocking;
use millstream_core::failure::{Finished, caught, discard};
use millstream_ring::{Batch, RingLayout};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

/// Slots for futures, which are reused: after the first ones, nothing is allocated.
pub(crate) struct FutureSlots<Fut: Future> {
    slots: Vec<FutureSlot<Fut>>,
    free: Vec<usize>,
    wakes: Arc<Wakes>,
    woken: Vec<usize>,
}

/// A slot for one future at a time.
struct FutureSlot<Fut: Future> {
    future: Pin<Box<Option<Fut>>>,
    landed: Option<Finished<Fut::Output>>,
    wakeable: Wakeable,
}

impl<Fut: Future> FutureSlots<Fut> {
    pub(crate) fn new(wakes: Arc<Wakes>) -> Self {
        FutureSlots { slots: Vec::new(), free: Vec::new(), wakes, woken: Vec::new() }
    }

    /// Makes a future and polls it. Returns the index of its slot.
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

    /// Polls each woken future once, if there are any, while the guard that `enter` returns is alive. `polled` receives
    /// each slot's index, and whether its future has just completed. Returns whether there were any; if so, further
    /// wake-ups do not notify until [`leave`](FutureSlots::leave).
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

    /// Ends [`poll_woken`](FutureSlots::poll_woken). Returns whether no future was woken since.
    pub(crate) fn leave(&self) -> bool {
        self.wakes.leave()
    }

    pub(crate) fn landed(&self, index: usize) -> bool {
        self.slots[index].landed.is_some()
    }

    /// Takes the result out of this slot, which becomes free.
    pub(crate) fn take(&mut self, index: usize) -> Option<Finished<Fut::Output>> {
        let landed = self.slots[index].landed.take()?;
        self.free.push(index);
        Some(landed)
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}

/// The futures that a stage has started.
pub(crate) trait InFlight<Fut> {
    /// Whether no further future may be started.
    fn full(&self) -> bool;

    /// Starts the future of the value at this number, which is greater than all numbers before.
    fn start(&mut self, number: u64, make: impl FnOnce() -> Fut);

    /// Starts the futures of a batch's values until it is full. The rest of the batch stays unread. Returns how many
    /// numbers it went through.
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
    /// The numbers that have a slot, with the slot's index.
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

    /// As [`FutureSlots::leave`].
    pub(crate) fn leave(&self) -> bool {
        self.slots.leave()
    }

    /// The result at this number, or `Some(None)` if no future was started there; none while the future is in flight.
    /// The caller asks for the numbers in order, for each until it is there.
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

    /// Drops everything; futures are dropped while the guard that `enter` returns is alive.
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
            Some(future) => blocking::poll(future, &mut Context::from_waker(wakeable.waker())),
            None => Poll::Pending,
        });
        let result = match polled {
            Ok(Poll::Pending) => return,
            Ok(Poll::Ready(result)) => Ok(result),
            Err(payload) => Err(payload),
        };
        // Dropping the future runs user code as well.
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
